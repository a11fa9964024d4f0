"""Where annotators come from, what they agree to, and where they go when they are done."""

from typing import Annotated, Literal

from pydantic import Field, HttpUrl, StringConstraints, model_validator

from spanplat.schemas.base import Strict
from spanplat.schemas.questions import ChoiceQuestion
from spanplat.schemas.slug import Slug

Code = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{3,64}$")]


class CompletionCodes(Strict):
    """What a platform is told at the end; a missing code shows a page without one."""

    completed: Code | None = None
    screened_out: Code | None = None
    failed_attention: Code | None = None
    no_consent: Code | None = None


class PlatformParameters(Strict):
    """Names of the query parameters by which a home-made pool identifies people."""

    person: str = "participant"
    study: str = "study"
    session: str = "session"


class PlatformSettings(Strict):
    """The crowdsourcing platform of a campaign."""

    service: Literal["direct", "prolific", "mturk", "other"] = "direct"
    codes: CompletionCodes = CompletionCodes()
    parameters: PlatformParameters = PlatformParameters()
    """Only read where ``service`` is ``other``."""
    completion_url: HttpUrl | None = None
    """Where people go after submitting; ``{code}`` is replaced by the code. Prolific's is known."""
    ask_name: bool = False
    """Ask people who come through the campaign's open link for a name."""
    reward: str = ""
    """Reward per batch as shown to annotators, for instance ``£2.40``."""
    bonus: str = ""
    minutes: float | None = Field(default=None, gt=0)
    """How long a batch is expected to take."""


class Consent(Strict):
    """What annotators agree to before they see an item."""

    version: str = "1"
    text: str = Field(min_length=1)
    """Markdown: what, who, how long, pay, use of the data, whom to contact."""


class ComprehensionQuestion(ChoiceQuestion):
    """A question about the instructions, asked before the first item."""

    type: Literal["choice"] = "choice"
    answer: str
    """Key or label of the right option."""

    @model_validator(mode="after")
    def _answerable(self) -> "ComprehensionQuestion":
        if not any(self.answer in (option.key, option.label) for option in self.options):
            listed = ", ".join(option.key for option in self.options)
            raise ValueError(f"the answer {self.answer!r} is not one of the options ({listed})")
        return self


class Comprehension(Strict):
    """Comprehension questions; those who fail every attempt are asked to return the task, never rejected."""

    questions: list[ComprehensionQuestion] = Field(min_length=1)
    attempts: int = Field(default=2, ge=2, le=10)


class QualificationRequired(Strict):
    """Only people who passed a qualification campaign may enter."""

    campaign: Slug


class QualificationGiven(Strict):
    """How a qualification campaign decides who passes."""

    measure: str = "char"
    hard: bool = True
    threshold: float | None = Field(default=0.5, ge=0, le=1)
    """Pass with a score above this."""
    top: int | None = Field(default=None, ge=1)
    """Or: the best so many pass."""
    reference: Slug | None = None
    """Campaign with the expected annotations, where the definition's gold checks do not state them."""
    attempts: int = Field(default=1, ge=1)
    valid_days: int | None = Field(default=None, ge=1)
    pass_message: str = ""
    fail_message: str = ""
    pass_code: Code | None = None
    fail_code: Code | None = None
