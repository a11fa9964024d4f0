"""Planning a campaign: the items, batches and seats of a definition, checked against the data in the database."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from random import Random
from typing import Any, NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from spanplat.errors import InvalidInput
from spanplat.llm.prompts import freeze_prompt, prompt_digest
from spanplat.models import (
    Annotation,
    Assignment,
    Campaign,
    Example,
    Item,
    ItemOutput,
    ItemRole,
    Output,
    Span,
)
from spanplat.schemas.assignment import DataSelection
from spanplat.schemas.checks import AnyCheck, PracticeItem
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.definition_file import DefinitionProblem, DefinitionSource, PathInFile, validate_definition
from spanplat.services.campaigns.batches import PlannedItem, plan_batches, plan_seats
from spanplat.services.campaigns.prompt_inputs import take_inputs
from spanplat.services.campaigns.references import problems_with_names
from spanplat.services.campaigns.selection import (
    SelectedOutput,
    SelectionError,
    find_outputs,
    lengths_of,
    noting,
    refuse_problems,
    require_source_text,
    select_outputs,
)
from spanplat.text import NotLocated, locate_quote
from spanplat.text.counting import count_of


@dataclass(frozen=True)
class CampaignPlan:
    """Items, batches and seats that creating a campaign would store."""

    definition: CampaignDefinition
    items: list["ItemPlan"]
    batches: list[list[PlannedItem]]
    seats: list[list[str | None]]


class ItemPlan(NamedTuple):
    """One item of a plan."""

    outputs: tuple[SelectedOutput, ...]
    aspect: str | None = None
    judged_span_id: int | None = None
    role: str = ItemRole.REGULAR
    check: str | None = None


def check_definition(session: Session, source: DefinitionSource) -> CampaignPlan:
    """Validate a definition file against its schema and against the data it selects, and plan the campaign.

    Raises
    ------
    InvalidInput
        If there are problems; the message gives file, line, path, the problem and how to solve it.
    """
    definition = validate_definition(source)
    try:
        return plan_campaign(session, definition)
    except SelectionError as error:
        raise InvalidInput("\n".join(source.message(one.path, one.message) for one in error.problems)) from error


def plan_campaign(session: Session, definition: CampaignDefinition) -> CampaignPlan:
    """Decide the items, batches and seats of a campaign without writing anything.

    Raises
    ------
    SelectionError
        If the definition asks for data that do not exist, or its name is taken.
    """
    problems = list(problems_with_names(session, definition))
    try:
        definition = freeze_prompt(definition)
    except InvalidInput as error:
        problems.append(DefinitionProblem(("model",), str(error)))
    if definition.kind == "external" or definition.data is None:
        raise SelectionError(("kind",), "an external campaign is imported, not created: spanplat campaign import")
    plan = plan_work(session, definition, definition.data, problems=problems)
    return replace(plan, definition=_with_what_it_takes(session, definition, plan.items))


def _with_what_it_takes(
    session: Session, definition: CampaignDefinition, items: Sequence[ItemPlan]
) -> CampaignDefinition:
    """Return the definition with the prompt inputs taken from other campaigns, and with the digest of the prompt.

    A definition that already has such inputs, as that of a clone, keeps them.
    """
    settings = definition.model
    if settings is None or settings.is_offline:
        return definition
    asked = {output.example_id: f"{output.split}/{output.example}" for item in items for output in item.outputs}
    taken = settings.taken
    if taken is None and (settings.instructions_from or settings.examples_from):
        try:
            taken = take_inputs(session, definition, asked)
        except InvalidInput as error:
            raise SelectionError(("model",), str(error)) from error
    elif taken is not None and (shown := {entry.example for entry in taken.examples}.intersection(asked.values())):
        raise SelectionError(
            ("model", "taken", "examples"),
            f"the campaign asks about {min(shown)}, which is one of its worked examples; leave model.taken out, and others are drawn",
        )
    definition = definition.model_copy(update={"model": settings.model_copy(update={"taken": taken})})
    # The prompt depends on the inputs, so the digest is computed after they are in the definition.
    digest = prompt_digest(definition)
    return definition.model_copy(
        update={"model": settings.model_copy(update={"taken": taken, "prompt_sha256": digest})}
    )


def plan_work(
    session: Session,
    definition: CampaignDefinition,
    data: DataSelection,
    *,
    without: Collection[int] = (),
    problems: Iterable[DefinitionProblem] = (),
) -> CampaignPlan:
    """Decide the items, batches and seats for the selected outputs.

    Parameters
    ----------
    session
        A reading session.
    definition
        Definition of the campaign.
    data
        The selection of outputs.
    without
        Ids of outputs that the campaign already has.
    problems
        Problems of the definition found before; they are raised together with those found here.

    Raises
    ------
    SelectionError
        If the definition asks for data that do not exist.
    """
    # Problems are collected, so that the researcher sees all of them at once and not one after the other.
    found = list(problems)
    checks: list[ItemPlan] = []
    selected: list[SelectedOutput] = []
    used = set(without)
    with noting(found):
        checks = _plan_checks(session, definition)
        used.update(output.id for item in checks for output in item.outputs)
    # Outputs of checks and practice are no regular work: annotators would see them twice, and practice shows the expected spans.
    with noting(found):
        used.update(_plan_practice(session, definition, data))
    with noting(found):
        selected = select_outputs(session, data, without=used)
    refuse_problems(found)
    if any(category.side == "source" for category in definition.categories):
        require_source_text(session, data.source_text, selected)
    if definition.qualification_taken is not None:
        selected = _asked_in(session, definition.qualification_taken, selected)
    items = [*_plan_items(session, definition, selected), *checks]
    planned = planned_items(session, definition, data, items)
    batches = plan_batches(
        [item for item in planned if item.role == ItemRole.REGULAR],
        [item for item in planned if item.role == ItemRole.ATTENTION],
        [item for item in planned if item.role == ItemRole.GOLD],
        definition.batches,
    )
    groups = [group.key for group in definition.groups]
    seats = plan_seats(len(batches), definition.annotators, groups, definition.batches.seed)
    # A model takes each batch once per repeat, whatever the settings for people say.
    if definition.model is not None:
        seats = [[None] * definition.model.repeats for _ in batches]
    return CampaignPlan(definition, items, batches, seats)


def planned_items(
    session: Session, definition: CampaignDefinition, data: DataSelection, items: Sequence[ItemPlan]
) -> list[PlannedItem]:
    """Return the items with the features over which the definition balances batches, and with lengths if these separate batches."""
    settings = definition.batches
    # The common case, in which no sources and texts need be read.
    if not settings.balance and not settings.lengths:
        return [PlannedItem(number, item.role, item.check) for number, item in enumerate(items)]
    lengths = lengths_of(session, data.dataset) if settings.lengths else {}
    names = [name for name in settings.balance if name.startswith("source.")]
    sources: dict[int, Any] = {}
    if names:
        wanted = {output.example_id for item in items for output in item.outputs}
        rows = session.execute(select(Example.id, Example.source).where(Example.id.in_(wanted)))
        sources = {example: source for example, source in rows}
    return [
        PlannedItem(
            number,
            item.role,
            item.check,
            "+".join(output.system for output in item.outputs),
            item.outputs[0].example,
            item.outputs[0].split,
            max(lengths.get(output.id, 0) for output in item.outputs),
            tuple((name, _source_field(sources.get(item.outputs[0].example_id), name)) for name in names),
        )
        for number, item in enumerate(items)
    ]


def _source_field(source: Any, name: str) -> str:
    """Return the value of ``source.<field>``, where more dots lead deeper; empty if there is none."""
    for part in name.split(".")[1:]:
        source = source.get(part) if isinstance(source, dict) else None
    return "" if source is None else str(source)


def _asked_in(session: Session, slug: str, outputs: Sequence[SelectedOutput]) -> list[SelectedOutput]:
    """Return only the outputs that a qualification asks about."""
    asked = set(
        session.scalars(
            select(ItemOutput.output_id)
            .join(Item, Item.id == ItemOutput.item_id)
            .join(Campaign, Campaign.id == Item.campaign_id)
            .where(Campaign.slug == slug)
        )
    )
    kept = [output for output in outputs if output.id in asked]
    if not kept:
        raise SelectionError(
            ("qualification_taken",), f"qualification {slug!r} asks about none of the outputs that data selects"
        )
    return kept


def _plan_checks(session: Session, definition: CampaignDefinition) -> list[ItemPlan]:
    carried = [(position, check, check.carrier) for position, check in enumerate(definition.checks)]
    checks = [(position, check) for position, check, carrier in carried if carrier is not None]
    references = [
        (("checks", position, "item"), carrier) for position, _check, carrier in carried if carrier is not None
    ]
    if not checks or definition.data is None:
        return []
    outputs = find_outputs(session, definition.data.dataset, references)
    refuse_problems(
        problem
        for (position, check), output in zip(checks, outputs, strict=True)
        for problem in _problems_with_spans(session, ("checks", position), check, output)
    )
    return [
        ItemPlan(
            (output,),
            role=ItemRole(check.role),
            check=check.name,
        )
        for (_position, check), output in zip(checks, outputs, strict=True)
    ]


def _plan_practice(session: Session, definition: CampaignDefinition, data: DataSelection) -> set[int]:
    """Return the ids of the practice outputs, after checking that their texts contain the expected spans."""
    places = [(("practice", position, "item"), practice.item) for position, practice in enumerate(definition.practice)]
    if not places:
        return set()
    outputs = find_outputs(session, data.dataset, places)
    refuse_problems(
        problem
        for (path, _reference), practice, output in zip(places, definition.practice, outputs, strict=True)
        for problem in _problems_with_spans(session, path[:2], practice, output)
    )
    return {output.id for output in outputs}


def _problems_with_spans(
    session: Session, path: PathInFile, check: AnyCheck | PracticeItem, output: SelectedOutput
) -> Iterator[DefinitionProblem]:
    """Yield a problem for each expected span that is not in the text of the output."""
    text = session.scalars(select(Output.text).where(Output.id == output.id)).one()
    for within, span in check.expected_spans():
        place = (*path, *within)
        if span.quote is not None and span.start is None and isinstance(locate_quote(text, span.quote), NotLocated):
            yield DefinitionProblem(
                (*place, "quote"), f"the text of its item does not contain the expected quote {span.quote!r}"
            )
        if span.end is not None and span.end > len(text):
            length = count_of(len(text), "character")
            yield DefinitionProblem((*place, "end"), f"the expected span ends at {span.end}, but the text has {length}")


def _plan_items(session: Session, definition: CampaignDefinition, outputs: Sequence[SelectedOutput]) -> list[ItemPlan]:
    match definition.item.kind:
        case "output":
            return [ItemPlan((output,)) for output in outputs]
        case "aspect":
            return [ItemPlan((output,), aspect=aspect.key) for output in outputs for aspect in definition.item.aspects]
        case "pair":
            return _plan_pairs(outputs, definition.batches.seed)
        case "span":
            return _plan_judgements(session, definition, outputs)


def _plan_pairs(outputs: Sequence[SelectedOutput], seed: int) -> list[ItemPlan]:
    rng = Random(seed)  # noqa: S311
    by_example: dict[int, list[SelectedOutput]] = {}
    for output in outputs:
        by_example.setdefault(output.example_id, []).append(output)
    # The order within a pair is random, so that no system always stands on the left. The seed makes it reproducible.
    pairs = [pair for group in by_example.values() for pair in combinations(group, 2)]
    if not pairs:
        raise SelectionError(
            ("data", "systems"), "no example has outputs of two systems, so there are no pairs to compare"
        )
    return [ItemPlan((first, second) if rng.random() < 0.5 else (second, first)) for first, second in pairs]


def _plan_judgements(
    session: Session, definition: CampaignDefinition, outputs: Sequence[SelectedOutput]
) -> list[ItemPlan]:
    by_id = {output.id: output for output in outputs}
    rows = session.execute(
        select(Span.id, ItemOutput.output_id)
        .join(Span.annotation)
        .join(Annotation.assignment)
        .join(Campaign, Campaign.id == Assignment.campaign_id)
        # Only the output in which the span was marked: an item may have several.
        .join(ItemOutput, (ItemOutput.item_id == Annotation.item_id) & (ItemOutput.position == Span.output_position))
        .where(Campaign.slug == definition.item.spans_from, Annotation.status == "complete")
        # A fixed order, because the batches depend on it as well as on the seed.
        .order_by(Span.id)
    )
    items = [ItemPlan((by_id[output_id],), judged_span_id=span_id) for span_id, output_id in rows if output_id in by_id]
    if not items:
        raise SelectionError(
            ("item", "spans_from"),
            f"campaign {definition.item.spans_from!r} has no spans on the selected outputs, so there is nothing to judge",
        )
    return items
