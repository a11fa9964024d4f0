"""Drafts of campaign definitions, written step by step; the YAML text is the only thing that is stored."""

import re
import secrets
from datetime import UTC, datetime
from functools import cache
from typing import Any

from sqlalchemy import or_, select, update
from sqlalchemy.orm import Session

from spanplat import paths
from spanplat.db import Database
from spanplat.errors import Conflict, InvalidInput, NotFound
from spanplat.formats.yaml_editing import YamlText
from spanplat.llm.replies.answers import asked_questions
from spanplat.models import Campaign, Dataset, Draft, Example, Output, System
from spanplat.models.statements import rows_changed
from spanplat.schemas import yaml_documents
from spanplat.schemas.definition_file import parse_yaml
from spanplat.schemas.providers import LANGUAGE_MODELS
from spanplat.services.campaigns.definitions import definition_of
from spanplat.services.campaigns.launching import store_campaign
from spanplat.services.campaigns.lifecycle import find_campaign, require_allowed
from spanplat.services.campaigns.planning import CampaignPlan, check_definition

BLANK = """slug: my-campaign
title: My campaign
kind: human
"""

_SHARED_WITH_MODELS = ("language", "data", "item", "categories", "severities", "spans", "questions")
"""Parts of a definition that also apply to a model; all others concern people only."""
LONGEST_TEXT = 2_000_000
"""Maximum number of characters of a definition."""


def list_starters() -> dict[str, str]:
    """Return titles of the definitions that ship with spanplat, by name."""
    return {file.stem: _starter_title(file.stem) for file in sorted((paths.CAMPAIGNS / "starters").glob("*.yaml"))}


# Shipped files do not change while the process runs.
@cache
def _starter_title(name: str) -> str:
    text = (paths.CAMPAIGNS / "starters" / f"{name}.yaml").read_text("utf-8")
    return str(YamlText(text).content.get("title", name))


def starter_text(name: str) -> str:
    """Return the text of a definition that ships with spanplat.

    Raises
    ------
    NotFound
        If there is none of this name.
    """
    starters = list_starters()
    if name not in starters:
        raise NotFound(f"there is no starter {name!r} (starters: {', '.join(starters)})")
    return (paths.CAMPAIGNS / "starters" / f"{name}.yaml").read_text("utf-8")


def campaign_text(session: Session, slug: str) -> str:
    """Return the definition of a campaign as a text for a new one.

    Raises
    ------
    NotFound, InvalidInput
        If there is no such campaign, or it was imported.
    """
    campaign = find_campaign(session, slug)
    if campaign.kind == "external":
        raise InvalidInput(f"campaign {slug!r} was imported; start from one that was made here")
    content = definition_of(campaign).model_dump(mode="json", exclude_defaults=True)
    content["slug"] = f"{slug}-copy"
    return yaml_documents.dump(content)


def model_text(session: Session, slug: str) -> str:
    """Return the definition of a model campaign with the instructions that the people of another campaign got.

    The choice of the model is left open. If there are questions, the prompt contains the instructions of that campaign word for word.
    If the model only marks spans, the guidelines are part of the prompt for spans.

    Raises
    ------
    NotFound, InvalidInput
        If there is no such campaign, or people did not fill it here.
    """
    campaign = find_campaign(session, slug)
    if campaign.kind not in ("human", "qualification"):
        raise InvalidInput(f"campaign {slug!r} has no instructions for people; choose a campaign that people fill")
    definition = definition_of(campaign)
    told = definition.model_dump(mode="json", exclude_defaults=True)
    content: dict[str, Any] = {"slug": f"{slug}-model", "title": f"{campaign.title} (model)", "kind": "llm"}
    content |= {name: told[name] for name in _SHARED_WITH_MODELS if name in told}
    for question in content.get("questions", ()):
        # Wordings belong to groups, and only people have groups.
        question.pop("wording", None)
    for name in ("suggestions", "suggestions_from"):
        # Only people decide on suggestions.
        content.get("spans", {}).pop(name, None)
    provider = LANGUAGE_MODELS[0].name
    if asked_questions(definition.questions):
        content["model"] = {"provider": provider, "preset": "verbatim", "instructions_from": slug}
    else:
        content |= {"guidelines": definition.guidelines, "model": {"provider": provider, "preset": "base"}}
    return yaml_documents.dump(content)


def about_dataset(text: str, dataset: str) -> str:
    """Return a definition's text with another dataset; all texts of the new dataset are then selected.

    Raises
    ------
    InvalidInput
        If the text is not YAML.
    """
    changed = YamlText(text)
    data = changed.content.get("data")
    # Names of splits, systems and examples of the old dataset mean nothing in the new one.
    if isinstance(data, dict) and data.get("dataset") != dataset:
        for name in ("splits", "systems", "examples"):
            changed.remove(("data", name))
    changed.set(("data", "dataset"), dataset)
    return changed.dump()


def create_draft(session: Session, text: str, user_id: int | None) -> Draft:
    """Create a draft."""
    draft = Draft(token=secrets.token_urlsafe(12), text=_fitting(text), user_id=user_id, changed_at=datetime.now(UTC))
    session.add(draft)
    session.flush()
    return draft


def find_draft(session: Session, token: str) -> Draft:
    """Return a draft.

    Raises
    ------
    NotFound
        If there is none; it may have been deleted.
    """
    draft = session.scalar(select(Draft).where(Draft.token == token))
    if draft is None:
        raise NotFound("there is no such draft; it may have been deleted")
    return draft


def open_drafts(session: Session) -> list[Draft]:
    """Return the drafts that have not become a campaign, the latest change first."""
    unmade = select(Draft).where(Draft.campaign_id.is_(None))
    return list(session.scalars(unmade.order_by(Draft.changed_at.desc(), Draft.id.desc())))


def title_of(draft: Draft) -> str:
    """Return the title of a draft."""
    # A search and not a parser: a text that is being written need not be valid YAML.
    found = re.search(r"^title:(.*)$", draft.text, re.MULTILINE)
    return (found[1].strip().strip("'\"") if found else "") or "Draft without a title"


def save_text(session: Session, token: str, text: str, *, revision: int, editor: str) -> Draft:
    """Store the text of a draft; the same text again changes nothing.

    Parameters
    ----------
    session
        A session that may write.
    token
        The draft.
    text
        The new text.
    revision
        The revision that the change is based on.
    editor
        Id of the open page that sends the text. A page sends its whole step with each save, so its own last save always wins.

    Raises
    ------
    Conflict
        If another page changed the draft since ``revision``.
    """
    draft = find_draft(session, token)
    if draft.text == text:
        return draft
    # A page may overwrite its own last save at any revision, because it contains nothing that the page does not know.
    mine = or_(Draft.revision == revision, Draft.editor == editor)
    changed = session.execute(
        update(Draft)
        .where(Draft.id == draft.id, mine)
        .values(text=_fitting(text), revision=Draft.revision + 1, editor=editor, changed_at=datetime.now(UTC))
    )
    if changed.rowcount != 1:  # type: ignore[attr-defined]
        raise Conflict(
            "this draft was changed in another tab or by somebody else, and nothing of yours was saved; reload the page to see it"
        )
    session.refresh(draft)
    return draft


def plan_draft(session: Session, draft: Draft) -> CampaignPlan:
    """Plan the campaign that a draft describes.

    Raises
    ------
    InvalidInput
        If the definition is not valid yet.
    """
    return check_definition(session, parse_yaml(draft.text))


def drop_draft(session: Session, token: str) -> None:
    """Delete a draft."""
    session.delete(find_draft(session, token))
    session.flush()


def check_texts(session: Session, text: str) -> dict[int, str]:
    """Return the texts to which the checks of a draft refer, by position of the check; texts that do not exist are left out."""
    content = YamlText(text).content
    # A draft may be incomplete or wrong anywhere, so nothing is taken for granted about the types of its values.
    data, checks = content.get("data"), content.get("checks")
    dataset = data.get("dataset") if isinstance(data, dict) else None
    named = {
        position: tuple(str(check["item"].get(name, "")) for name in ("split", "example", "system"))
        for position, check in enumerate(checks if isinstance(checks, list) else ())
        if isinstance(check, dict) and isinstance(check.get("item"), dict)
    }
    rows = session.execute(
        select(Example.split, Example.key, System.slug, Output.text)
        .join(Output, Output.example_id == Example.id)
        .join(System, System.id == Output.system_id)
        .join(Dataset, Dataset.id == Example.dataset_id)
        .where(Dataset.slug == str(dataset), Example.key.in_({key for _split, key, _system in named.values()}))
    )
    texts = {(split, key, system): output for split, key, system, output in rows}
    return {position: texts[names] for position, names in named.items() if names in texts}


def make_campaign(database: Database, token: str) -> Campaign:
    """Create the campaign that a draft describes; nobody can enter it before it is opened.

    Raises
    ------
    Conflict
        If the draft has already become a campaign, was changed in the meantime, or the platform's rules do not allow it.
    InvalidInput
        If the definition is not valid.
    """
    with database.reading() as session:
        draft = find_draft(session, token)
        if draft.campaign_id is not None:
            raise Conflict("a campaign was made of this draft already")
        plan = plan_draft(session, draft)
    require_allowed(plan.definition)

    # The draft may change while the campaign is stored; a campaign must not differ from the draft that it was made of.
    def note_campaign(session: Session, campaign: Campaign) -> None:
        as_planned = (Draft.id == draft.id) & (Draft.revision == draft.revision) & Draft.campaign_id.is_(None)
        if rows_changed(session.execute(update(Draft).where(as_planned).values(campaign_id=campaign.id))) != 1:
            raise Conflict("this draft was changed while its campaign was made, so nothing was made; look again")

    return store_campaign(database, plan, note_campaign)


def _fitting(text: str) -> str:
    if len(text) > LONGEST_TEXT:
        raise InvalidInput(f"the definition has {len(text):,} characters; at most {LONGEST_TEXT:,} are accepted")
    # Browsers send the line breaks of a text area as CRLF.
    return text.replace("\r\n", "\n")
