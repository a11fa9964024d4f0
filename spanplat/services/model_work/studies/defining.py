"""Creation of a prompt study, with a campaign for each of its variants, and its lookup."""

from sqlalchemy import select
from sqlalchemy.orm import Session

from spanplat.db import Database
from spanplat.errors import Conflict, InvalidInput
from spanplat.models import Campaign, CampaignStatus, Study
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.definition_file import define
from spanplat.schemas.study import StudyDefinition
from spanplat.services.accounts import log_event
from spanplat.services.campaigns import (
    CampaignPlan,
    SelectionError,
    definition_of,
    find_campaign,
    plan_campaign,
    store_campaigns,
)
from spanplat.services.model_work.lookup import find_named, list_named, require_free_name


def plan_study(session: Session, definition: StudyDefinition) -> dict[str, CampaignPlan]:
    """Plan the campaigns of a study's variants, without writing anything.

    Parameters
    ----------
    session
        A reading session.
    definition
        The study.

    Returns
    -------
    dict of str to CampaignPlan
        Plans by variant.

    Raises
    ------
    NotFound
        If the gold campaign or the base campaign (``like``) does not exist.
    InvalidInput
        If the base campaign is not a model campaign, a variant is not valid, or the gold campaign is to be annotated anew.
    Conflict
        If there is already a study of this name, or a campaign of the name that its ensemble would have.
    """
    require_free_name(session, Study, definition.slug)
    if definition.gold is not None:
        find_campaign(session, definition.gold)
    if definition.ensemble:
        _require_free_campaign(session, definition.ensemble_campaign)
    base = definition_of(find_campaign(session, definition.like))
    if base.kind != "llm" or base.model is None:
        raise InvalidInput(f"{definition.like!r} is not a model campaign; variants are like one that a model fills")
    if base.model.is_offline and (definition.presets or definition.models):
        raise InvalidInput(
            f"{definition.like!r} is filled by the offline annotator, which is asked nothing in words; "
            "name a campaign whose model is, or write variants with a provider of their own"
        )
    plans = {}
    for name, settings in definition.settings(base.model.model_dump(mode="json", exclude_unset=True)).items():
        content = _content(definition, base) | {
            "slug": definition.campaign(name),
            "title": f"{definition.title}: {name}"[:200],
            "model": settings,
        }
        made = define(content, f"study {definition.slug}, variant {name}")
        try:
            plans[name] = plan_campaign(session, made)
        except SelectionError as error:
            lines = [f"variant {name}: {'.'.join(map(str, one.path))}: {one.message}" for one in error.problems]
            raise InvalidInput("\n".join(lines)) from error
    annotators = sum(plan.definition.model.repeats for plan in plans.values() if plan.definition.model)
    if definition.ensemble and annotators < 2:
        raise InvalidInput("an ensemble needs two annotators or more; name more models, or a protocol with repeats")
    return plans


def _require_free_campaign(session: Session, slug: str) -> None:
    if session.scalar(select(Campaign.id).where(Campaign.slug == slug)) is not None:
        raise Conflict(f"there is a campaign {slug!r} already, which the ensemble would be called; choose another slug")


def is_combined(session: Session, ensemble: str) -> bool:
    """Return whether the campaign that combines all variants exists already."""
    ready = select(Campaign.id).where(Campaign.slug == ensemble, Campaign.status != CampaignStatus.IMPORTING)
    return session.scalar(ready) is not None


def create_study(database: Database, definition: StudyDefinition, plans: dict[str, CampaignPlan]) -> None:
    """Store a planned study, and a campaign for each variant. No model is asked yet.

    Parameters
    ----------
    database
        The target database.
    definition
        The study.
    plans
        Plans of its campaigns by variant, from `plan_study`.

    Raises
    ------
    Conflict
        If another process created a study of this name, or a campaign of a variant's name, since it was planned. Nothing is stored.
    """

    def add_study(session: Session, _campaigns: list[Campaign]) -> None:
        # Another process may have created it since `plan_study` looked.
        require_free_name(session, Study, definition.slug)
        session.add(Study(slug=definition.slug, title=definition.title, definition=definition.model_dump(mode="json")))
        log_event(session, "study.created", definition.slug)

    store_campaigns(database, plans.values(), add_study)


def find_study(session: Session, slug: str) -> Study:
    """Return the study with this slug.

    Raises
    ------
    NotFound
        If there is none. The message lists the existing ones.
    """
    return find_named(session, Study, slug)


def list_studies(session: Session) -> list[Study]:
    """Return all studies, newest first."""
    return list_named(session, Study)


def study_definition(study: Study) -> StudyDefinition:
    """Return a study's parsed definition."""
    return StudyDefinition.model_validate(study.definition)


def variants_of(session: Session, study: Study) -> dict[str, Campaign]:
    """Return the campaigns of a study's variants by the variants' names, in their order."""
    definition = study_definition(study)
    return {name: find_campaign(session, definition.campaign(name)) for name in definition.settings({})}


def _content(definition: StudyDefinition, base: CampaignDefinition) -> dict[str, object]:
    # Without defaults, as if the definition were written anew: a default of the base may not suit the variant.
    content = base.model_dump(mode="json", exclude_unset=True)
    if definition.data is not None:
        content["data"] = definition.data.model_dump(mode="json", exclude_unset=True)
    return content
