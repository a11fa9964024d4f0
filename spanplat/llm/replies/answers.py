"""A model's answers to questions about the whole item, in the form in which people's answers are stored."""

from collections.abc import Mapping, Sequence
from typing import Any

from spanplat.schemas.questions import Answer, AnyQuestion, NoErrorsQuestion
from spanplat.schemas.slug import slugify


def asked_questions(questions: Sequence[AnyQuestion]) -> list[AnyQuestion]:
    """Return the questions that a model is asked. The box "nothing to mark" is not among them; it follows from the spans."""
    return [question for question in questions if not isinstance(question, NoErrorsQuestion)]


def named_answers(questions: Sequence[AnyQuestion], given: Mapping[str, Any]) -> dict[str, Answer]:
    """Read answers given by key or label of their question. Answers that cannot be read are left out."""
    forms = {slugify(str(name)): value for name, value in given.items()}
    answers = {}
    for question in questions:
        for name in (question.key, slugify(question.label)):
            if name in forms and (answer := question.read(forms[name])) is not None:
                answers[question.key] = answer
                break
    return answers


def missing_answers(questions: Sequence[AnyQuestion], answers: Mapping[str, Any]) -> list[str]:
    """Return the labels of the required questions without an answer."""
    return [
        question.label for question in asked_questions(questions) if question.required and question.key not in answers
    ]
