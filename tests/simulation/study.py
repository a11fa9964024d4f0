"""The study that simulated annotators take part in."""

from random import Random

from spanplat.db import Database
from spanplat.models import CampaignStatus
from spanplat.schemas.dataset import ExampleRecord, OutputRecord
from spanplat.schemas.definition import CampaignDefinition
from spanplat.services.campaigns.lifecycle import set_status
from spanplat.services.campaigns.planning import plan_campaign
from spanplat.services.datasets.storing import store_records
from tests.campaigns import create_campaign

SLUG = "load"
CATEGORIES = ("contradicted", "not-checkable", "misleading", "incoherent", "repetitive", "other")
CODE = "B3NCH-D0NE"
"""The completion code: nobody may read it before their work is submitted."""
SENTENCES = (
    "The phone has a display of 6.5 inches and weighs 190 grams.",
    "Its battery holds 5000 mAh, which lasts two days in ordinary use 📱.",
    "On Monday the temperature rises to 21 °C, with light rain in the evening.",
    "The home side won by two goals after a slow first half.",
    "The naïve défense of the visitors was seldom tested.",
)
SENTENCES_PER_TEXT = 10


def write_texts(database: Database, count: int) -> None:
    """Store the dataset ``bench`` with so many outputs of one system, no two alike."""
    random = Random(7)
    examples = [str(number) for number in range(count)]
    store_records(
        database,
        [
            *(("bench", ExampleRecord(split="test", key=key, source={"title": f"Case {key}"})) for key in examples),
            *(
                (
                    "bench",
                    OutputRecord(
                        split="test",
                        key=key,
                        system="fir",
                        text=f"Case {key}. " + " ".join(random.choices(SENTENCES, k=SENTENCES_PER_TEXT)),
                    ),
                )
                for key in examples
            ),
        ],
    )


def create_study(url: str, *, batches: int, per_output: int, items: int = 5) -> None:
    """Store a campaign and open it; each person may do one batch.

    Parameters
    ----------
    url
        URL of a migrated database.
    batches
        Distinct batches.
    per_output
        Annotators that each output is promised, and so seats on each batch.
    items
        Items in a batch.
    """
    database = Database(url)
    write_texts(database, batches * items)
    definition = CampaignDefinition.model_validate(
        {
            "slug": SLUG,
            "title": "Marking errors",
            "categories": [{"key": key, "name": key.capitalize()} for key in CATEGORIES],
            "spans": {"reason": "optional"},
            "guidelines": "Mark every error in the text.",
            "data": {"dataset": "bench"},
            "batches": {"regular": items},
            "annotators": {"per_output": per_output},
            "platform": {"service": "prolific", "codes": {"completed": CODE}},
        }
    )
    with database.transaction() as session:
        create_campaign(session, plan_campaign(session, definition))
        set_status(session, SLUG, CampaignStatus.OPEN)
    database.dispose()
