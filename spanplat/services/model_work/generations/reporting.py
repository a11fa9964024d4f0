"""Progress, cost and failures of a generation, and the provenance of its outputs."""

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from spanplat.llm.interfaces.parameters import sent_parameters
from spanplat.models import Example, Generation, GenerationCall, Output, System
from spanplat.services.model_work.calls import CallSums, count_calls, sum_calls
from spanplat.services.model_work.generations.defining import examples_of, generation_definition


@dataclass(frozen=True, kw_only=True)
class GenerationFigures(CallSums):
    """Figures of all runs of a generation together."""

    promised: int
    """Number of outputs in the end."""
    done: int
    cut: int
    """Number of outputs that the token limit cut short."""
    failures: dict[str, int]
    """Number of examples without an output whose last call failed, by its error."""
    model_versions: list[str]
    """Versions of the model, as the provider reports them."""

    @property
    def left(self) -> int:
        """Number of outputs that are still to be written."""
        return self.promised - self.done

    @property
    def cost_per_1000(self) -> float | None:
        """US dollars for 1,000 outputs."""
        return self.cost * 1000 / self.done if self.cost is not None and self.done else None


def generation_figures(session: Session, generation: Generation) -> GenerationFigures:
    """Return the progress and cost of a generation."""
    definition = generation_definition(generation)
    chosen = examples_of(definition).with_only_columns(Example.id).subquery()
    done = (
        select(func.count())
        .select_from(Output)
        .join(System, System.id == Output.system_id)
        .where(System.slug == definition.system, Output.example_id.in_(select(chosen)))
    )
    own = GenerationCall.generation_id == generation.id
    # Only calls whose text became an output: a cut reply may also be empty after its reasoning.
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


def _failures(session: Session, generation: Generation) -> dict[str, int]:
    last = (
        select(func.max(GenerationCall.id))
        .where(GenerationCall.generation_id == generation.id)
        .group_by(GenerationCall.example_id)
    )
    items = func.count()
    rows = session.execute(
        select(GenerationCall.error, items)
        # The last call of an example decides: an earlier failure that a retry mended is none.
        .where(GenerationCall.id.in_(last), GenerationCall.text_sha256.is_(None))
        .group_by(GenerationCall.error)
        .order_by(items.desc(), GenerationCall.error)
        .limit(20)
    )
    return {error or "not asked to the end": count for error, count in rows}


@dataclass(frozen=True)
class Provenance:
    """The call that wrote an output."""

    generation: str
    """Slug."""
    model: str
    """Name of the model in the request."""
    model_version: str | None
    """Version of the model, as the provider reports it."""
    prompt_sha256: str
    """Digest of the parts that all prompts of the generation share."""
    request_sha256: str
    """Digest of the request that wrote this output."""
    parameters: Mapping[str, Any]
    """Parameters sent with the request: seed, temperature, …"""
    written_at: datetime
    input_tokens: int
    output_tokens: int
    cost: float | None
    """US dollars. None if the price is not known."""
    is_cut: bool
    """Whether the token limit cut the output short."""

    @property
    def seed(self) -> Any:
        """Seed in the request, or None."""
        return self.parameters.get("seed")


def provenance_of(session: Session, output_id: int) -> Provenance | None:
    """Return the call that wrote an output, or None if no generation wrote it."""
    # The text must match too: after a run was taken over, two calls about one example may have a reply, but one became the output.
    row = session.execute(
        select(Generation, GenerationCall)
        .join(GenerationCall, GenerationCall.generation_id == Generation.id)
        .join(Output, Output.example_id == GenerationCall.example_id)
        .join(System, System.id == Output.system_id)
        .where(Output.id == output_id, GenerationCall.text_sha256 == Output.text_sha256)
        .where(Generation.definition["system"].as_string() == System.slug)
        .order_by(GenerationCall.id)
        .limit(1)
    ).one_or_none()
    if row is None:
        return None
    generation, call = row
    settings = generation_definition(generation).model
    return Provenance(
        generation.slug,
        settings.model,
        call.model_version,
        generation.prompt_sha256,
        call.request_sha256,
        sent_parameters(settings),
        call.created_at,
        call.input_tokens,
        call.output_tokens,
        call.cost,
        call.finish_reason == "length",
    )


@dataclass(frozen=True)
class SystemProvenance:
    """The generation that wrote a system's outputs in one dataset."""

    system: str
    """Slug."""
    dataset: str
    """Slug."""
    generation: str
    """Slug."""
    model: str
    """Name of the model in the requests."""
    parameters: Mapping[str, Any]
    """Parameters sent with every request: seed, temperature, …"""
    prompt_sha256: str
    figures: GenerationFigures
    """Outputs, versions of the model, and cost."""

    @property
    def seed(self) -> Any:
        """Seed in the requests, or None."""
        return self.parameters.get("seed")


def provenance_of_systems(session: Session, systems: Collection[str]) -> list[SystemProvenance]:
    """Return the provenance of the generated systems among these slugs, in the order of their slugs."""
    named = Generation.definition["system"].as_string()
    found = session.scalars(select(Generation).where(named.in_(systems)).order_by(named, Generation.slug))
    return [_of_system(session, generation) for generation in found]


def _of_system(session: Session, generation: Generation) -> SystemProvenance:
    definition = generation_definition(generation)
    return SystemProvenance(
        definition.system,
        definition.dataset,
        generation.slug,
        definition.model.model,
        definition.model.parameters,
        generation.prompt_sha256,
        generation_figures(session, generation),
    )
