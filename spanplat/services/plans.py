"""Planning a campaign: which items, batches and seats its definition asks for, checked against the data there are."""

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
from spanplat.schemas.checks import (
    ExpectedSpan,
    GoldCheck,
    KnownAnswerCheck,
    MustAbstainCheck,
    MustMarkCheck,
    PracticeItem,
)
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.definition_file import DefinitionProblem, DefinitionSource, PathInFile, validate_definition
from spanplat.services.batches import PlannedItem, plan_batches, plan_seats
from spanplat.services.named_in_definitions import problems_with_names
from spanplat.services.prompt_inputs import take_inputs
from spanplat.services.selection import (
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

ITEM_CHECKS = (MustMarkCheck, MustAbstainCheck, KnownAnswerCheck, GoldCheck)


@dataclass(frozen=True)
class CampaignPlan:
    """What creating a campaign would make."""

    definition: CampaignDefinition
    items: list["ItemPlan"]
    batches: list[list[PlannedItem]]
    seats: list[list[str | None]]


class ItemPlan(NamedTuple):
    """One item to be made."""

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
        With file, line, path, what is wrong and how to mend it.
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
    """Write what prompts take from other campaigns into the definition, and the digest of the prompt.

    A definition that has it already, as a clone's, keeps it.
    """
    settings = definition.model
    if settings is None or settings.provider == "overlap":
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
    """Decide items, batches and seats for the outputs selected.

    Parameters
    ----------
    session
        A reading session.
    definition
        Of the campaign.
    data
        The outputs to select.
    without
        Ids of outputs that are in the campaign already.
    problems
        What was found amiss with the definition before; it is told together with what is found here.

    Raises
    ------
    SelectionError
        If the definition asks for data that do not exist.
    """
    found = list(problems)
    checks: list[ItemPlan] = []
    selected: list[SelectedOutput] = []
    used = set(without)
    with noting(found):
        checks = _plan_checks(session, definition)
        used.update(output.id for item in checks for output in item.outputs)
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
    if definition.model is not None:
        seats = [[None] * definition.model.repeats for _ in batches]
    return CampaignPlan(definition, items, batches, seats)


def planned_items(
    session: Session, definition: CampaignDefinition, data: DataSelection, items: Sequence[ItemPlan]
) -> list[PlannedItem]:
    """Describe items as far as batches are balanced over what they are, and by length where that keeps some apart."""
    settings = definition.batches
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
    """Return what stands in ``source.<field>``, or deeper with more dots; empty where there is nothing."""
    for part in name.split(".")[1:]:
        source = source.get(part) if isinstance(source, dict) else None
    return "" if source is None else str(source)


def _asked_in(session: Session, slug: str, outputs: Sequence[SelectedOutput]) -> list[SelectedOutput]:
    """Keep the outputs that a qualification asks about."""
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
    checks = [(position, check) for position, check in enumerate(definition.checks) if isinstance(check, ITEM_CHECKS)]
    if not checks or definition.data is None:
        return []
    references = [(("checks", position, "item"), check.item) for position, check in checks]
    outputs = find_outputs(session, definition.data.dataset, references)
    refuse_problems(
        problem
        for (position, check), output in zip(checks, outputs, strict=True)
        for problem in _problems_with_spans(session, ("checks", position), check, output)
    )
    return [
        ItemPlan(
            (output,),
            role=ItemRole.GOLD if isinstance(check, GoldCheck) else ItemRole.ATTENTION,
            check=check.name,
        )
        for (_position, check), output in zip(checks, outputs, strict=True)
    ]


def _plan_practice(session: Session, definition: CampaignDefinition, data: DataSelection) -> set[int]:
    """Return the outputs people practise on, which are no work; what is expected of each is there to be found."""
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
    session: Session, path: PathInFile, check: object, output: SelectedOutput
) -> Iterator[DefinitionProblem]:
    """Give the expected spans of a check that are not in its text."""
    expected: Sequence[tuple[PathInFile, ExpectedSpan]] = ()
    if isinstance(check, MustMarkCheck):
        expected = [((*path, "expected"), check.expected)]
    elif isinstance(check, (GoldCheck, PracticeItem)):
        expected = [
            ((*path, "golds", number, position), span)
            for number, gold in enumerate(check.golds)
            for position, span in enumerate(gold)
        ]
    text = session.scalars(select(Output.text).where(Output.id == output.id)).one()
    for place, span in expected:
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
        .join(ItemOutput, (ItemOutput.item_id == Annotation.item_id) & (ItemOutput.position == Span.output_position))
        .where(Campaign.slug == definition.item.spans_from, Annotation.status == "complete")
        .order_by(Span.id)
    )
    items = [ItemPlan((by_id[output_id],), judged_span_id=span_id) for span_id, output_id in rows if output_id in by_id]
    if not items:
        raise SelectionError(
            ("item", "spans_from"),
            f"campaign {definition.item.spans_from!r} has no spans on the selected outputs, so there is nothing to judge",
        )
    return items
