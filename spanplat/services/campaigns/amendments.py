"""Amending a definition after the launch: each amendment has a number, a date and a note, and later annotations store its number.

An amendment may not change what annotators are asked, because annotations before and after would not be comparable. Such a change
needs a new campaign.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from spanplat.errors import Conflict, InvalidInput
from spanplat.models import Amendment, Campaign, Category
from spanplat.platforms.rules import refusals
from spanplat.schemas import yaml_documents
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.definition_file import DefinitionSource, PathInFile, validate_definition
from spanplat.services.accounts import actor_names, log_event
from spanplat.services.campaigns.definitions import definition_of
from spanplat.services.campaigns.lifecycle import digest_of, find_campaign

ANY = "*"
MAY_CHANGE: tuple[tuple[str, ...], ...] = (
    ("title",),
    ("guidelines",),
    ("worked_examples",),
    ("final_message",),
    ("consent",),
    ("categories", ANY, "description"),
    ("categories", ANY, "examples"),
    ("questions", ANY, "help"),
    ("checks", ANY, "message"),
    ("annotators", "lease_minutes"),
    ("annotators", "max_batches"),
    ("annotators", "invited"),
    ("platform", "codes"),
    ("platform", "completion_url"),
    ("platform", "reward"),
    ("platform", "bonus"),
    ("platform", "minutes"),
)
"""Paths of a definition that an amendment may change, with everything below them: wording, time, pay and the way back."""

LONGEST_NOTE = 2000


@dataclass(frozen=True)
class Proposal:
    """New definition of a campaign, checked but not in force."""

    definition: CampaignDefinition
    changes: Sequence[PathInFile]
    """Paths at which it differs from the definition in force."""


@dataclass(frozen=True)
class AmendmentLine:
    """One amendment, for display."""

    number: int
    at: datetime
    actor_name: str
    note: str
    changes: Sequence[str]
    """Paths that differ from the definition before, such as ``platform.reward``."""
    definition_sha256: str


def definition_text(definition: CampaignDefinition) -> str:
    """Return a definition as YAML text; reading the text gives the same definition."""
    content = definition.model_dump(mode="json", exclude_none=True)
    return yaml_documents.dump(content)


def changes_between(before: CampaignDefinition, after: CampaignDefinition) -> list[PathInFile]:
    """Return the paths at which two definitions differ, as deep as both have them; lists of different lengths differ as a whole."""
    return list(_differences(before.model_dump(mode="json"), after.model_dump(mode="json"), ()))


def propose_amendment(session: Session, slug: str, source: DefinitionSource) -> Proposal:
    """Check a changed definition against the one in force, without writing anything.

    Raises
    ------
    NotFound
        If there is no such campaign.
    Conflict
        If a model fills the campaign, it was imported, or nothing differs.
    InvalidInput
        If the definition is not valid, changes a part that may not change, or adds something that the platform's rules forbid; the
        message says what to do instead.
    """
    return _propose(find_campaign(session, slug), source)


def amend(session: Session, slug: str, source: DefinitionSource, note: str, *, base: int | None = None) -> Amendment:
    """Put a changed definition in force; needs a writing transaction.

    Parameters
    ----------
    session
        A writing session.
    slug
        The campaign.
    source
        The whole new definition.
    note
        Reason for the change; stored with the amendment.
    base
        Number of the amendment that the change is based on; None skips the test for changes by others.

    Raises
    ------
    NotFound, Conflict, InvalidInput
        As `propose_amendment`; also without a note, or if somebody else amended the campaign since ``base``.
    """
    if not note.strip():
        raise InvalidInput("say why the definition changes; the note is kept with the amendment")
    if len(note) > LONGEST_NOTE:
        raise InvalidInput(f"the note has {len(note):,} characters; at most {LONGEST_NOTE:,} are kept")
    found = find_campaign(session, slug)
    # Two amendments at once would get the same number, so the second waits. `populate_existing` rereads the row after the wait.
    locked = select(Campaign).where(Campaign.id == found.id).with_for_update(key_share=True)
    campaign = session.scalars(locked.execution_options(populate_existing=True)).one()
    if base is not None and base != campaign.amendment:
        raise Conflict(
            f"campaign {slug!r} was amended by somebody else in the meantime (amendment {campaign.amendment}), "
            "and nothing of yours was saved; reload the page and change it again"
        )
    proposal = _propose(campaign, source)
    return put_in_force(session, campaign, proposal.definition, note.strip())


def put_in_force(session: Session, campaign: Campaign, definition: CampaignDefinition, note: str) -> Amendment:
    """Store a definition as the next amendment of a campaign, whatever it changes; the caller has locked the campaign."""
    changed = changes_between(definition_of(campaign), definition)
    # The first amendment also stores the original definition, under number 0: annotations made before refer to it.
    if campaign.amendment == 0:
        session.add(
            Amendment(
                campaign_id=campaign.id,
                number=0,
                at=campaign.created_at,
                actor="",
                definition=campaign.definition,
                definition_sha256=campaign.definition_sha256,
                note="",
            )
        )
    # The caller holds the lock on the row, so no other amendment can take the same number.
    campaign.amendment += 1
    campaign.title = definition.title
    campaign.definition = definition.model_dump(mode="json")
    campaign.definition_sha256 = digest_of(definition)
    # Categories are also rows of their own, and of these an amendment may change the description only.
    descriptions = {category.key: category.description for category in definition.categories}
    for category in session.scalars(select(Category).where(Category.campaign_id == campaign.id)):
        category.description = descriptions[category.key]
    amendment = Amendment(
        campaign_id=campaign.id,
        number=campaign.amendment,
        actor=session.info.get("actor", "somebody"),
        definition=campaign.definition,
        definition_sha256=campaign.definition_sha256,
        note=note,
    )
    session.add(amendment)
    log_event(
        session,
        "campaign.amended",
        campaign.slug,
        number=campaign.amendment,
        note=note,
        changes=[dotted(path) for path in changed],
        definition_sha256=campaign.definition_sha256,
    )
    session.flush()
    return amendment


def list_amendments(session: Session, campaign: Campaign) -> list[AmendmentLine]:
    """Return the amendments of a campaign, the newest first."""
    stored = list(
        session.scalars(select(Amendment).where(Amendment.campaign_id == campaign.id).order_by(Amendment.number))
    )
    names = actor_names(session, [amendment.actor for amendment in stored])
    definitions = [CampaignDefinition.model_validate(amendment.definition) for amendment in stored]
    # The first row is the original definition, so the lines begin with the second.
    lines = [
        AmendmentLine(
            amendment.number,
            amendment.at,
            names.get(amendment.actor, amendment.actor),
            amendment.note,
            [dotted(path) for path in changes_between(before, after)],
            amendment.definition_sha256,
        )
        for amendment, before, after in zip(stored[1:], definitions, definitions[1:], strict=False)
    ]
    return lines[::-1]


def dotted(path: PathInFile) -> str:
    """Return a path as text with dots.

    >>> dotted(("categories", 0, "description"))
    'categories.0.description'
    """
    return ".".join(map(str, path))


def undotted(text: str) -> PathInFile:
    """Return the path from a text that `dotted` wrote.

    >>> undotted("categories.0.description")
    ('categories', 0, 'description')
    """
    return tuple(int(part) if part.isdigit() else part for part in text.split("."))


def _propose(campaign: Campaign, source: DefinitionSource) -> Proposal:
    slug = campaign.slug
    if campaign.kind not in ("human", "qualification"):
        raise Conflict(
            f"campaign {slug!r} is not filled by people, so its definition stays as it is; "
            f"clone it to change something: spanplat campaign clone {slug} NEW"
        )
    before, after = definition_of(campaign), validate_definition(source)
    # Defaults are filled in on both sides, so leaving out a field that has its default is no change.
    changes = changes_between(before, after)
    if not changes:
        raise Conflict(f"the definition is the one in force in campaign {slug!r}; nothing was changed")
    problems = [
        source.message(
            path,
            "may not change after the launch, because annotations before and after would not be comparable; "
            f"change it in a clone: spanplat campaign clone {slug} NEW",
        )
        for path in changes
        if not _may_change(path)
    ]
    # A participation stores the version of the form only, so a version must identify one text.
    old, new = before.consent, after.consent
    if old and new and old.text != new.text and old.version == new.version:
        problem = f"the consent form changes, but its version is still {new.version!r}; give it another"
        problems.append(source.message(("consent", "version"), problem))
    # What the rules forbid in the definition in force is no reason to refuse an amendment of other parts.
    known = refusals(before)
    problems += [
        source.message(undotted(finding.path), f"{finding.message} ({finding.source.title})")
        for finding in refusals(after)
        if finding not in known
    ]
    if problems:
        raise InvalidInput("\n".join(problems))
    return Proposal(after, changes)


def _may_change(path: PathInFile) -> bool:
    return any(
        len(path) >= len(place) and all(part in (ANY, name) for part, name in zip(place, path, strict=False))
        for place in MAY_CHANGE
    )


def _differences(before: Any, after: Any, path: PathInFile) -> Iterator[PathInFile]:
    if isinstance(before, dict) and isinstance(after, dict):
        for key in dict.fromkeys([*before, *after]):
            yield from _differences(before.get(key), after.get(key), (*path, key))
    # Entries of lists of different lengths cannot be matched by position, so such a list counts as changed as a whole.
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for position, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from _differences(one, other, (*path, position))
    elif before != after:
        yield path
