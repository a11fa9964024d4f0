"""How far a generation is, what it has cost, and what failed."""

from dataclasses import asdict, dataclass

from sqlalchemy import case, func, select
from sqlalchemy.orm import Session

from spanplat.models import Example, Generation, GenerationCall, Output, System
from spanplat.services.generations.defining import examples_of, generation_definition
from spanplat.services.model_runs.calls import CallSums, count_calls, sum_calls


@dataclass(frozen=True, kw_only=True)
class GenerationFigures(CallSums):
    """All runs of a generation together."""

    promised: int
    """Outputs there will be."""
    done: int
    cut: int
    """Outputs that the limit of tokens cut short."""
    failures: dict[str, int]
    """Examples without an output whose last call failed, by its error."""
    model_versions: list[str]
    """As reported."""

    @property
    def left(self) -> int:
        """Outputs that are still to be written."""
        return self.promised - self.done

    @property
    def cost_per_1000(self) -> float | None:
        """US dollars for 1,000 outputs."""
        return self.cost * 1000 / self.done if self.cost is not None and self.done else None


def generation_figures(session: Session, generation: Generation) -> GenerationFigures:
    """Tell how far a generation is, and what it has cost."""
    definition = generation_definition(generation)
    chosen = examples_of(definition).with_only_columns(Example.id).subquery()
    done = (
        select(func.count())
        .select_from(Output)
        .join(System, System.id == Output.system_id)
        .where(System.slug == definition.system, Output.example_id.in_(select(chosen)))
    )
    own = GenerationCall.generation_id == generation.id
    is_cut = (GenerationCall.finish_reason == "length") & GenerationCall.text_sha256.is_not(None)
    versions = select(GenerationCall.model_version).where(own, GenerationCall.model_version.is_not(None)).distinct()
    return GenerationFigures(
        promised=session.scalar(select(func.count()).select_from(chosen)) or 0,
        done=session.scalar(done) or 0,
        cut=count_calls(session, GenerationCall, own, is_cut),
        **asdict(sum_calls(session, GenerationCall, own)),
        failures=_failures(session, generation),
        model_versions=sorted(str(version) for version in session.scalars(versions)),
    )


def spent(session: Session, generation: Generation) -> tuple[float, int]:
    """Return the US dollars that its calls have cost, as far as they are known, and the number of calls whose cost is not."""
    calls = select(func.sum(GenerationCall.cost), func.count(case((GenerationCall.cost.is_(None), 1))))
    known, unknown = session.execute(calls.where(GenerationCall.generation_id == generation.id)).one()
    return known or 0.0, unknown


def _failures(session: Session, generation: Generation) -> dict[str, int]:
    last = (
        select(func.max(GenerationCall.id))
        .where(GenerationCall.generation_id == generation.id)
        .group_by(GenerationCall.example_id)
    )
    items = func.count()
    rows = session.execute(
        select(GenerationCall.error, items)
        .where(GenerationCall.id.in_(last), GenerationCall.text_sha256.is_(None))
        .group_by(GenerationCall.error)
        .order_by(items.desc(), GenerationCall.error)
        .limit(20)
    )
    return {error or "not asked to the end": count for error, count in rows}
