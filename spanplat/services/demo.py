"""The demo: a dataset, two sample annotations of it, a campaign for people and one that runs offline."""

from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import select

from spanplat import paths
from spanplat.db import Database
from spanplat.models import Campaign, CampaignStatus
from spanplat.schemas.definition_file import parse_yaml, read_definition
from spanplat.services.campaigns import create_campaign, set_status
from spanplat.services.importing.campaigns import import_campaign
from spanplat.services.importing.datasets import import_dataset
from spanplat.services.plans import check_definition
from spanplat.services.runs import RunReport, run_campaign

DATASET = "demo"
PEOPLE, MODEL = "demo-people", "demo-overlap"
SAMPLES = ("demo-sample-a", "demo-sample-b")
COMPARISONS = ((SAMPLES[0], SAMPLES[1]), (SAMPLES[0], MODEL), (SAMPLES[1], MODEL))
"""Reference and hypothesis of the agreement table the demo prints."""


@dataclass(frozen=True)
class DemoReport:
    """What the demo holds."""

    run: RunReport
    """The model campaign's last run; it asks nothing the second time."""
    loaded_at: datetime


def load_demo(database: Database) -> DemoReport:
    """Load what the demo needs and is not there yet, then run its model campaign.

    Raises
    ------
    Conflict
        If one of its campaigns' names is taken by another campaign.
    """
    folder = paths.CAMPAIGNS / "demo"
    import_dataset(database, [folder / "dataset.jsonl"], name=DATASET)
    for slug in SAMPLES:
        stem = slug.removeprefix("demo-")
        definition = read_definition((folder / f"{stem}.yaml").read_text("utf-8"), name=f"{stem}.yaml")
        import_campaign(database, folder / f"{stem}.jsonl", slug=slug, format="native", definition=definition)
    for slug, name in ((PEOPLE, "human.yaml"), (MODEL, "model.yaml")):
        source = parse_yaml((folder / name).read_text("utf-8"), name=name)
        with database.reading() as session:
            if session.scalar(select(Campaign.id).where(Campaign.slug == slug)) is not None:
                continue
            plan = check_definition(session, source)
        with database.transaction() as session:
            create_campaign(session, plan)
            set_status(session, slug, CampaignStatus.OPEN)
    return DemoReport(run_campaign(database, MODEL), datetime.now(UTC))
