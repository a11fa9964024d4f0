"""Selection of a campaign's outputs, and lookup of the outputs that its checks name."""

import contextlib
import random
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from spanplat.errors import InvalidInput
from spanplat.models import Dataset, Example, Output, SourceText, System
from spanplat.schemas.assignment import DataSelection
from spanplat.schemas.checks import OutputReference
from spanplat.schemas.definition_file import DefinitionProblem, PathInFile


class SelectionError(InvalidInput):
    """The definition names data that do not exist; ``problems`` holds all problems found, the message is that of the first."""

    def __init__(self, path: PathInFile, message: str, *others: DefinitionProblem) -> None:
        super().__init__(message)
        self.problems = (DefinitionProblem(path, message), *others)


def refuse_problems(problems: Iterable[DefinitionProblem]) -> None:
    """Raise one error with all problems of a definition; do nothing if there are none.

    Raises
    ------
    SelectionError
        If there are problems; each is listed once.
    """
    found = list(dict.fromkeys(problems))
    if found:
        raise SelectionError(found[0].path, found[0].message, *found[1:])


@contextlib.contextmanager
def noting(problems: list[DefinitionProblem]) -> Iterator[None]:
    """Add the problems of a `SelectionError` to a list and go on after the block, so that all can be reported together."""
    try:
        yield
    except SelectionError as error:
        problems.extend(error.problems)


class SelectedOutput(NamedTuple):
    """Output with the names that identify it."""

    id: int
    example_id: int
    split: str
    example: str
    system: str


def find_dataset(session: Session, slug: str) -> Dataset:
    """Return the dataset with this slug.

    Raises
    ------
    SelectionError
        If there is none; the message lists the existing datasets.
    """
    dataset = session.scalar(select(Dataset).where(Dataset.slug == slug))
    if dataset is None:
        known = ", ".join(session.scalars(select(Dataset.slug).order_by(Dataset.slug))) or "none yet"
        raise SelectionError(
            ("data", "dataset"),
            f"there is no dataset {slug!r} (datasets: {known}); import it with: spanplat dataset import PATH --name {slug}",
        )
    return dataset


def select_outputs(
    session: Session, selection: DataSelection, *, without: Collection[int] = ()
) -> list[SelectedOutput]:
    """Return the outputs that a campaign annotates, in a stable order; ``without`` holds ids that are used elsewhere (as checks).

    Raises
    ------
    SelectionError
        If a dataset, split, system or example does not exist, or nothing is left.
    """
    outputs = chosen = _outputs_of(session, find_dataset(session, selection.dataset).id)
    # Compared with all outputs, so that a name is unknown only if it is nowhere in the dataset.
    refuse_problems(
        [
            *_unknown("splits", selection.splits, {output.split for output in outputs}),
            *_unknown("systems", selection.systems, {output.system for output in outputs}),
            *_unknown("examples", selection.examples, {output.example for output in outputs}),
        ]
    )
    if selection.splits:
        chosen = [output for output in chosen if output.split in selection.splits]
    if selection.systems:
        chosen = [output for output in chosen if output.system in selection.systems]
    if selection.examples:
        examples = set(selection.examples)
        chosen = [output for output in chosen if output.example in examples]
    if selection.min_characters is not None or selection.max_characters is not None:
        lengths = lengths_of(session, selection.dataset)
        least, most = selection.min_characters or 0, selection.max_characters
        chosen = [o for o in chosen if least <= lengths[o.id] and (most is None or lengths[o.id] <= most)]
    if not chosen:
        raise SelectionError(
            ("data",),
            f"nothing is left of the {len(outputs)} outputs of {selection.dataset!r}: each split, system, example and length exists, "
            "but no output meets them all; take one of the conditions away",
        )
    # Before the draw, so that the limit is reached although some outputs are used for checks.
    if without:
        chosen = [output for output in chosen if output.id not in without]
    # Positions are drawn and not outputs, so that the outputs drawn keep their order.
    if selection.limit is not None and selection.limit < len(chosen):
        drawn = set(random.Random(selection.seed).sample(range(len(chosen)), selection.limit))  # noqa: S311
        chosen = [output for position, output in enumerate(chosen) if position in drawn]
    return chosen


def lengths_of(session: Session, dataset: str) -> dict[int, int]:
    """Return the length in code points of every output of a dataset; this is slow, because the database reads every text."""
    lengths = (
        select(Output.id, func.length(Output.text))
        .join(Output.example)
        .join(Example.dataset)
        .where(Dataset.slug == dataset)
    )
    return {output: length for output, length in session.execute(lengths)}


def find_outputs(
    session: Session, dataset: str, references: Sequence[tuple[PathInFile, OutputReference]]
) -> list[SelectedOutput]:
    """Return the outputs to which checks refer, in the order of the references.

    Raises
    ------
    SelectionError
        If one does not exist.
    """
    known = {
        (output.split, output.example, output.system): output
        for output in _outputs_of(
            session, find_dataset(session, dataset).id, {item.example for _path, item in references}
        )
    }
    refuse_problems(
        DefinitionProblem(
            path,
            f"dataset {dataset!r} has no output of system {reference.system!r} for example {reference.example!r} "
            f"in split {reference.split!r}",
        )
        for path, reference in references
        if (reference.split, reference.example, reference.system) not in known
    )
    return [known[reference.split, reference.example, reference.system] for _path, reference in references]


def _outputs_of(session: Session, dataset_id: int, examples: Collection[str] | None = None) -> list[SelectedOutput]:
    """Return the outputs of a dataset, or those for the examples with these keys."""
    chosen = [Example.dataset_id == dataset_id, *([] if examples is None else [Example.key.in_(examples)])]
    rows = session.execute(
        select(Output.id, Output.example_id, Example.split, Example.key, System.slug)
        .join(Output.example)
        .join(Output.system)
        .where(*chosen)
        .order_by(Example.id, System.slug)
    )
    return [SelectedOutput._make(row) for row in rows]


def _unknown(name: str, asked: Sequence[str], known: set[str]) -> Iterator[DefinitionProblem]:
    for position, value in enumerate(asked):
        if value not in known:
            listed = sorted(known)
            shown = ", ".join(listed[:12]) + (f", … ({len(listed)} in all)" if len(listed) > 12 else "")
            yield DefinitionProblem(("data", name, position), f"{value!r} is not in the dataset ({name}: {shown})")


def require_source_text(session: Session, field: str, outputs: Sequence[SelectedOutput]) -> None:
    """Raise unless the source of every output has a text in this field, in which spans can be marked.

    Raises
    ------
    SelectionError
        If one has none; the message lists the existing fields.
    """
    wanted = {output.example_id: output.example for output in outputs}
    fields: dict[int, set[str]] = {}
    # All outputs are of one dataset, so one example is enough to find it. A list of all ids could have too many parameters.
    for example_id, name in session.execute(
        select(SourceText.example_id, SourceText.field)
        .join(Example, Example.id == SourceText.example_id)
        .where(Example.dataset_id.in_(select(Example.dataset_id).where(Example.id.in_(list(wanted)[:1]))))
    ):
        fields.setdefault(example_id, set()).add(name)
    lacking = [example for example_id, example in wanted.items() if field not in fields.get(example_id, ())]
    if lacking:
        known = ", ".join(sorted({name for example_id in wanted for name in fields.get(example_id, ())})) or "none"
        raise SelectionError(
            ("data", "source_text"),
            f"a category is marked in the source, but the sources of {len(lacking)} of {len(wanted)} examples "
            f"(such as {lacking[0]!r}) have no text under {field!r} (texts: {known}); name the field to mark here",
        )
