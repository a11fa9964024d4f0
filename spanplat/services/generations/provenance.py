"""Where generated outputs come from: which model wrote them, asked what, when, and at what cost."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from spanplat.llm.interfaces.parameters import sent_parameters
from spanplat.models import Generation, GenerationCall, Output, System
from spanplat.services.generations.defining import generation_definition
from spanplat.services.generations.reporting import GenerationFigures, generation_figures


@dataclass(frozen=True)
class Provenance:
    """The call that wrote an output."""

    generation: str
    """Slug."""
    model: str
    """As it was asked for."""
    model_version: str | None
    """As the provider reports it."""
    prompt_sha256: str
    """Of what all prompts of the generation are made of."""
    request_sha256: str
    """Of the request that wrote this output."""
    parameters: Mapping[str, Any]
    """Sent with it: seed, temperature, …"""
    written_at: datetime
    input_tokens: int
    output_tokens: int
    cost: float | None
    """US dollars; None where the price is not known."""
    is_cut: bool
    """Whether the limit of tokens cut it short."""

    @property
    def seed(self) -> Any:
        """The seed sent; None where there was none."""
        return self.parameters.get("seed")


def provenance_of(session: Session, output_id: int) -> Provenance | None:
    """Return the call that wrote an output; None of an output that no generation wrote."""
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
    """As it was asked for."""
    parameters: Mapping[str, Any]
    """Sent with every question: seed, temperature, …"""
    prompt_sha256: str
    figures: GenerationFigures
    """What it has written, with which versions of the model, and at what cost."""

    @property
    def seed(self) -> Any:
        """The seed sent; None where there was none."""
        return self.parameters.get("seed")


def provenance_of_systems(session: Session, systems: Collection[str]) -> list[SystemProvenance]:
    """Return how generated systems came to be, by their slugs; the others are not among them."""
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
