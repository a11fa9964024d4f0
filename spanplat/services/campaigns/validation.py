"""Validation of a definition while it is written: its problems by step, and the size and cost of its campaign."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sqlalchemy.orm import Session

from spanplat.errors import InvalidInput
from spanplat.models import ItemRole
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.definition_file import DefinitionProblem, find_problems, parse_yaml
from spanplat.services.campaigns.planning import CampaignPlan, plan_campaign
from spanplat.services.campaigns.selection import SelectionError

STEPS: Mapping[str, tuple[str, ...]] = {
    "start": ("slug", "title", "kind", "language"),
    "data": ("data", "item"),
    "categories": ("categories", "severities", "spans"),
    "guidelines": ("guidelines", "worked_examples", "final_message"),
    "questions": ("questions", "groups"),
    "checks": ("checks", "practice"),
    "assignment": ("batches", "annotators"),
    "platform": ("platform", "consent", "comprehension", "qualification_required", "qualification_given"),
    "model": ("model", "qualification_taken"),
}
"""Fields of the definition by step; a test makes sure that none is missing."""

_AMOUNT = re.compile(r"(?P<before>[^\d\s]*)\s*(?P<amount>\d+(?:\.\d+)?)(?P<after>\D*)")


@dataclass(frozen=True)
class PlanFigures:
    """Size and cost of a planned campaign."""

    outputs: int
    """Number of distinct texts, without those of checks."""
    items: int
    checks: int
    batches: int
    seats: int
    """Number of seats over all batches; each seat is the work of one person on one batch."""
    people: int
    """Smallest number of people, if each does as many batches as allowed."""
    hours: float | None
    """Hours of paid work; None if the definition does not say how long a batch takes."""
    reward: str
    """Sum of the rewards of all seats, without fees; empty if the definition states no amount."""


@dataclass(frozen=True)
class ValidationResult:
    """Result of validating a definition."""

    problems: Sequence[DefinitionProblem] = ()
    definition: CampaignDefinition | None = None
    plan: CampaignPlan | None = None
    """Plan of the campaign; None if there are problems."""
    figures: PlanFigures | None = None

    def problems_of(self, step: str) -> list[DefinitionProblem]:
        """Return the problems of one step; problems without a step belong to the first one."""
        return [problem for problem in self.problems if step_of(problem.path) == step]


def step_of(path: Sequence[str | int]) -> str:
    """Return the step that contains the field of a path."""
    return next((step for step, fields in STEPS.items() if path and path[0] in fields), "start")


def validate_text(session: Session, text: str) -> ValidationResult:
    """Validate the text of a definition; if there are no problems, plan its campaign and compute its figures."""
    try:
        source = parse_yaml(text)
    except InvalidInput as error:
        return ValidationResult([_unreadable(str(error))])
    if not isinstance(source.value, dict):
        return ValidationResult([DefinitionProblem((), "a campaign definition is a mapping (slug: …, title: …)")])
    problems = find_problems(source)
    if problems:
        return ValidationResult(problems)
    definition = CampaignDefinition.model_validate(source.value)
    # The data can be checked only when the definition itself is valid.
    try:
        plan = plan_campaign(session, definition)
    except SelectionError as error:
        problems = [replace(problem, line=source.line_of(problem.path)) for problem in error.problems]
        return ValidationResult(problems, definition)
    except InvalidInput as error:
        return ValidationResult([DefinitionProblem((), str(error))], definition)
    return ValidationResult((), definition, plan, figures_of(plan))


def _unreadable(message: str) -> DefinitionProblem:
    """Return a problem for a text that cannot be read, with the line number from the message."""
    found = re.match(r"definition:(?:(\d+):)? ", message)
    line = int(found[1]) if found and found[1] else None
    return DefinitionProblem((), message[found.end() :] if found else message, line)


def figures_of(plan: CampaignPlan) -> PlanFigures:
    """Compute the size and cost of a plan."""
    definition = plan.definition
    seats = sum(len(batch) for batch in plan.seats)
    minutes = definition.platform.minutes
    regular = [item for item in plan.items if item.role == ItemRole.REGULAR]
    return PlanFigures(
        outputs=len({output.id for item in regular for output in item.outputs}),
        items=len(regular),
        checks=len(plan.items) - len(regular),
        batches=len(plan.batches),
        seats=seats,
        # Rounded up.
        people=-(-seats // definition.annotators.max_batches),
        hours=seats * minutes / 60 if minutes is not None else None,
        reward=_times(definition.platform.reward, seats),
    )


def _times(reward: str, seats: int) -> str:
    found = _AMOUNT.fullmatch(reward.strip())
    return f"{found['before']}{float(found['amount']) * seats:,.2f}{found['after'].lstrip()}" if found else ""
