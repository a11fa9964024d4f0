"""Questions about a whole item, beside its spans.

To add a kind, write a module here and a template ``annotator/question_<kind>.html``, and add the class to the union below. Forms,
validation of answers, prompts, parsing of replies, ensembles and training data use this union.
"""

from typing import Annotated, get_args

from pydantic import Field

from spanplat.schemas.questions.checkbox import CheckboxQuestion
from spanplat.schemas.questions.choice import ChoiceQuestion
from spanplat.schemas.questions.choices import ChoicesQuestion
from spanplat.schemas.questions.likert import LikertQuestion
from spanplat.schemas.questions.no_errors import NoErrorsQuestion
from spanplat.schemas.questions.options import Options
from spanplat.schemas.questions.preference import PairQuestion
from spanplat.schemas.questions.question import Answer, Question, short_slug
from spanplat.schemas.questions.slider import SliderQuestion
from spanplat.schemas.questions.text import TextQuestion

_Kind = (
    CheckboxQuestion
    | NoErrorsQuestion
    | ChoiceQuestion
    | ChoicesQuestion
    | LikertQuestion
    | SliderQuestion
    | TextQuestion
    | PairQuestion
)
AnyQuestion = Annotated[_Kind, Field(discriminator="type")]
QUESTION_KINDS: tuple[type[Question], ...] = get_args(_Kind)
"""In the order in which forms offer them."""

__all__ = [
    "QUESTION_KINDS",
    "Answer",
    "AnyQuestion",
    "ChoiceQuestion",
    "LikertQuestion",
    "NoErrorsQuestion",
    "Options",
    "PairQuestion",
    "Question",
    "SliderQuestion",
    "TextQuestion",
    "short_slug",
]
