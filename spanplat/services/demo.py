"""The demo: a dataset, two campaigns with sample annotations, a campaign for people and a model campaign that runs offline."""

from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import select

from spanplat import paths
from spanplat.db import Database
from spanplat.models import Campaign, CampaignStatus
from spanplat.schemas.definition_file import parse_yaml, read_definition
from spanplat.services.campaigns import (
    DEMO_DATASET,
    check_definition,
    import_campaign,
    open_campaign,
    store_campaign,
)
from spanplat.services.datasets import import_dataset
from spanplat.services.model_work import RunReport, run_campaign

PEOPLE, MODEL = "demo-people", "demo-overlap"
SAMPLES = ("demo-sample-a", "demo-sample-b")
COMPARISONS = ((SAMPLES[0], SAMPLES[1]), (SAMPLES[0], MODEL), (SAMPLES[1], MODEL))
"""Pairs of reference and hypothesis in the agreement table that the demo prints."""


@dataclass(frozen=True)
class DemoReport:
    """Report of loading the demo."""

    run: RunReport
    """The last run of the model campaign; a second run has nothing to do."""
    loaded_at: datetime


def load_demo(database: Database) -> DemoReport:
    """Load the parts of the demo that are missing, then run its model campaign.

    Raises
    ------
    Conflict
        If another campaign has the name of one of the demo's campaigns.
    """
    folder = paths.CAMPAIGNS / "demo"
    import_dataset(database, [folder / "dataset.jsonl"], name=DEMO_DATASET)
    for slug in SAMPLES:
        stem = slug.removeprefix("demo-")
        definition = read_definition((folder / f"{stem}.yaml").read_text("utf-8"), name=f"{stem}.yaml")
        import_campaign(database, folder / f"{stem}.jsonl", slug=slug, format="native", definition=definition)
    for slug, name in ((PEOPLE, "human.yaml"), (MODEL, "model.yaml")):
        source = parse_yaml((folder / name).read_text("utf-8"), name=name)
        with database.reading() as session:
            known = session.scalar(select(Campaign).where(Campaign.slug == slug))
            # A half-made campaign is left by a process that was killed; it is created again.
            plan = check_definition(session, source) if known is None or known.is_half_made else None
        if plan is not None:
            known = store_campaign(database, plan)
        if known is not None and known.status == CampaignStatus.DRAFT:
            open_campaign(database, slug)
    return DemoReport(run_campaign(database, MODEL), datetime.now(UTC))
