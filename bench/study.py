"""The study that simulated annotators take part in."""

from random import Random

from spanplat.db import Database
from spanplat.models import CampaignStatus
from spanplat.schemas.dataset import ExampleRecord, OutputRecord
from spanplat.schemas.definition import CampaignDefinition
from spanplat.services.campaigns import create_campaign, set_status
from spanplat.services.importing.storing import store_records
from spanplat.services.plans import plan_campaign

SLUG = "load"
CATEGORIES = ("contradicted", "not-checkable", "misleading", "incoherent", "repetitive", "other")
ITEMS_PER_BATCH = 5
SENTENCES = (
    "The phone has a display of 6.5 inches and weighs 190 grams.",
    "Its battery holds 5000 mAh, which lasts two days in ordinary use 📱.",
    "On Monday the temperature rises to 21 °C, with light rain in the evening.",
    "The home side won by two goals after a slow first half.",
    "The naïve défense of the visitors was seldom tested.",
)
SENTENCES_PER_TEXT = 10


def create_study(url: str, *, seats: int, batches: int = 20) -> None:
    """Store a campaign that at least ``seats`` people can take part in, and open it.

    Parameters
    ----------
    url
        URL of a migrated database.
    seats
        How many people there must be room for.
    batches
        Distinct batches; each gets an equal share of the seats.
    """
    database = Database(url)
    random = Random(7)
    examples = [str(number) for number in range(batches * ITEMS_PER_BATCH)]
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
                        text=" ".join(random.choices(SENTENCES, k=SENTENCES_PER_TEXT)),
                    ),
                )
                for key in examples
            ),
        ],
    )
    definition = CampaignDefinition.model_validate(
        {
            "slug": SLUG,
            "title": "Marking errors",
            "categories": [{"key": key, "name": key.capitalize()} for key in CATEGORIES],
            "spans": {"reason": "optional"},
            "guidelines": "Mark every error in the text.",
            "data": {"dataset": "bench"},
            "batches": {"regular": ITEMS_PER_BATCH},
            "annotators": {"per_output": -(-seats // batches)},
            "platform": {"service": "prolific", "codes": {"completed": "DONE"}},
        }
    )
    with database.transaction() as session:
        create_campaign(session, plan_campaign(session, definition))
        set_status(session, SLUG, CampaignStatus.OPEN)
    database.dispose()
