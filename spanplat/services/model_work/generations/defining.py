"""Creation and lookup of generations, and the examples that they write about."""

import hashlib
import json

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from spanplat.errors import Conflict, InvalidInput, NotFound
from spanplat.models import Dataset, Example, Generation, Output, System
from spanplat.models.statements import insert_absent
from spanplat.schemas.generation import GenerationDefinition
from spanplat.services.accounts import log_event
from spanplat.services.model_work.generations.writing import ask_for
from spanplat.services.model_work.lookup import find_named, list_named, require_free_name


def check_generation(session: Session, definition: GenerationDefinition) -> int:
    """Check that a generation can be created, and return the number of outputs it will write.

    Raises
    ------
    NotFound
        If there is no such dataset.
    InvalidInput
        If nothing is selected, or the prompt is wrong. The message says where and why.
    Conflict
        If the name is taken, or the system already has outputs in the dataset, which would mix with the new ones.
    """
    require_free_name(session, Generation, definition.slug)
    if session.scalar(select(Dataset.id).where(Dataset.slug == definition.dataset)) is None:
        known = ", ".join(session.scalars(select(Dataset.slug).order_by(Dataset.slug).limit(20))) or "none yet"
        raise NotFound(f"there is no dataset {definition.dataset!r} (datasets: {known})")
    examples = list(session.scalars(examples_of(definition)))
    if not examples:
        raise InvalidInput(f"dataset {definition.dataset!r} has no example in the splits chosen")
    written = (
        select(Output.id)
        .join(System, System.id == Output.system_id)
        .join(Example, Example.id == Output.example_id)
        .join(Dataset, Dataset.id == Example.dataset_id)
        .where(System.slug == definition.system, Dataset.slug == definition.dataset)
    )
    others = (entry.definition for entry in session.scalars(select(Generation)))
    is_taken = any((one["system"], one["dataset"]) == (definition.system, definition.dataset) for one in others)
    if is_taken or session.scalar(written.limit(1)) is not None:
        raise Conflict(
            f"system {definition.system!r} has outputs in dataset {definition.dataset!r} already, or another generation writes them; "
            "name a new system, so that it stays clear where each text comes from"
        )
    # Renders one prompt, only to find an error in the template before anything is paid for.
    ask_for(definition, examples[0])
    return len(examples)


def create_generation(session: Session, definition: GenerationDefinition) -> Generation:
    """Store a checked generation. The model is not asked yet."""
    content = definition.model_dump(mode="json")
    # The system may have outputs in other datasets.
    insert_absent(session, System, [{"slug": definition.system, "name": definition.system}])
    generation = Generation(
        slug=definition.slug,
        definition=content,
        definition_sha256=hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest(),
        prompt_sha256=prompt_digest(definition),
    )
    session.add(generation)
    session.flush()
    log_event(session, "generation.created", generation.slug, definition_sha256=generation.definition_sha256)
    return generation


def find_generation(session: Session, slug: str) -> Generation:
    """Return the generation with this slug.

    Raises
    ------
    NotFound
        If there is none. The message lists the existing ones.
    """
    return find_named(session, Generation, slug)


def list_generations(session: Session) -> list[Generation]:
    """Return all generations, newest first."""
    return list_named(session, Generation)


def generation_definition(generation: Generation) -> GenerationDefinition:
    """Return a generation's parsed definition."""
    return GenerationDefinition.model_validate(generation.definition)


def examples_of(definition: GenerationDefinition) -> Select[Example]:
    """Return the statement that selects the examples of a generation, in their order."""
    found = (
        select(Example)
        .join(Dataset, Dataset.id == Example.dataset_id)
        .where(Dataset.slug == definition.dataset)
        .order_by(Example.id)
    )
    if definition.splits:
        found = found.where(Example.split.in_(definition.splits))
    return found.limit(definition.limit)


def prompt_digest(definition: GenerationDefinition) -> str:
    """Return the digest of everything that the model is told besides the source."""
    told = [definition.model.system_message, definition.model.prompt, definition.beginning]
    return hashlib.sha256(json.dumps(told, ensure_ascii=False).encode()).hexdigest()
