"""What a definition is worth while it is being written: what keeps it from being a campaign, and what it comes to."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sqlalchemy.orm import Session

from spanplat.errors import InvalidInput
from spanplat.models import ItemRole
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.definition_file import DefinitionProblem, find_problems, parse_yaml
from spanplat.services.plans import CampaignPlan, plan_campaign
from spanplat.services.selection import SelectionError

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
"""Fields of the definition by step; a test sees to it that none is left out."""

_AMOUNT = re.compile(r"(?P<before>[^\d\s]*)\s*(?P<amount>\d+(?:\.\d+)?)(?P<after>\D*)")


@dataclass(frozen=True)
class PlanFigures:
    """What the definition implies."""

    outputs: int
    """Different texts that are annotated, without checks."""
    items: int
    checks: int
    batches: int
    seats: int
    """Batches that are worked on, each by one person at a time."""
    people: int
    """How many it takes at least, if each does as many batches as allowed."""
    hours: float | None
    """Of paid work, where the definition says how long a batch takes."""
    reward: str
    """What all seats are paid together, without fees; empty where the definition states no amount."""


@dataclass(frozen=True)
class Examination:
    """What a definition is worth as it stands."""

    problems: Sequence[DefinitionProblem] = ()
    definition: CampaignDefinition | None = None
    plan: CampaignPlan | None = None
    """What creating the campaign would make, where nothing keeps it from being made."""
    figures: PlanFigures | None = None

    def problems_of(self, step: str) -> list[DefinitionProblem]:
        """Return the problems of one step; those of no step belong to the first."""
        return [problem for problem in self.problems if step_of(problem.path) == step]


def step_of(path: Sequence[str | int]) -> str:
    """Return the step that has the field a path leads to."""
    return next((step for step, fields in STEPS.items() if path and path[0] in fields), "start")


def examine(session: Session, text: str) -> Examination:
    """Tell what keeps a text from being a campaign, and what it would imply if nothing does."""
    try:
        source = parse_yaml(text)
    except InvalidInput as error:
        return Examination([_unreadable(str(error))])
    if not isinstance(source.value, dict):
        return Examination([DefinitionProblem((), "a campaign definition is a mapping (slug: …, title: …)")])
    problems = find_problems(source)
    if problems:
        return Examination(problems)
    definition = CampaignDefinition.model_validate(source.value)
    try:
        plan = plan_campaign(session, definition)
    except SelectionError as error:
        problems = [replace(problem, line=source.line_of(problem.path)) for problem in error.problems]
        return Examination(problems, definition)
    except InvalidInput as error:
        return Examination([DefinitionProblem((), str(error))], definition)
    return Examination((), definition, plan, figures_of(plan))


def _unreadable(message: str) -> DefinitionProblem:
    """Take the line out of a message about a text that cannot be read."""
    found = re.match(r"definition:(?:(\d+):)? ", message)
    line = int(found[1]) if found and found[1] else None
    return DefinitionProblem((), message[found.end() :] if found else message, line)


def figures_of(plan: CampaignPlan) -> PlanFigures:
    """Count what a plan comes to."""
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
        people=-(-seats // definition.annotators.max_batches),
        hours=seats * minutes / 60 if minutes is not None else None,
        reward=_times(definition.platform.reward, seats),
    )


def _times(reward: str, seats: int) -> str:
    found = _AMOUNT.fullmatch(reward.strip())
    return f"{found['before']}{float(found['amount']) * seats:,.2f}{found['after'].lstrip()}" if found else ""
