"""Check of the campaigns and measures that a definition names."""

from collections.abc import Iterator

from sqlalchemy import select
from sqlalchemy.orm import Session

from spanplat.metrics.registry import MEASURES
from spanplat.models import Campaign
from spanplat.schemas.checks import GoldCheck
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.definition_file import DefinitionProblem, PathInFile


def problems_with_names(session: Session, definition: CampaignDefinition) -> Iterator[DefinitionProblem]:
    """Yield a problem if the slug is taken, and for each campaign or measure that does not exist."""
    campaigns = _campaigns_named(definition)
    wanted = {definition.slug, *(slug for _path, slug in campaigns)}
    rows = session.scalars(select(Campaign).where(Campaign.slug.in_(wanted)))
    # A half-made campaign is removed as soon as its name is used again, so the name is free.
    known = {campaign.slug for campaign in rows if not campaign.is_half_made}
    if definition.slug in known:
        yield DefinitionProblem(("slug",), f"there is a campaign {definition.slug!r} already; choose another slug")
    for path, slug in campaigns:
        if slug not in known:
            yield DefinitionProblem(path, f"there is no campaign {slug!r}")
    for path, measure in _measures_named(definition):
        if measure not in MEASURES:
            yield DefinitionProblem(path, f"there is no measure {measure!r} (measures: {', '.join(MEASURES)})")


def _campaigns_named(definition: CampaignDefinition) -> list[tuple[PathInFile, str]]:
    named: list[tuple[PathInFile, str | None]] = [
        (("spans", "suggestions_from"), definition.spans.suggestions_from),
        (("item", "spans_from"), definition.item.spans_from),
        (
            ("qualification_required", "campaign"),
            definition.qualification_required.campaign if definition.qualification_required else None,
        ),
        (
            ("qualification_given", "reference"),
            definition.qualification_given.reference if definition.qualification_given else None,
        ),
        (("qualification_taken",), definition.qualification_taken),
        (("model", "examples_from"), definition.model.examples_from if definition.model else None),
        *(
            # `campaign#2` names the second annotator of a campaign.
            (("model", "consolidates", position), member.partition("#")[0])
            for position, member in enumerate(definition.model.consolidates if definition.model else [])
        ),
        (("model", "instructions_from"), definition.model.instructions_from if definition.model else None),
        *(
            (("annotators", "exclude_campaigns", position), slug)
            for position, slug in enumerate(definition.annotators.exclude_campaigns)
        ),
    ]
    return [(path, slug) for path, slug in named if slug is not None]


def _measures_named(definition: CampaignDefinition) -> list[tuple[PathInFile, str]]:
    named: list[tuple[PathInFile, str]] = [
        (("checks", position, "measure"), check.measure)
        for position, check in enumerate(definition.checks)
        if isinstance(check, GoldCheck)
    ]
    if definition.qualification_given is not None:
        named.append((("qualification_given", "measure"), definition.qualification_given.measure))
    return named
