"""What stands beside the campaigns of a large study, so that every page of the studio has something to show.

Other campaigns, a qualification, a pool of people, a prompt study that has run, and a generation that has not.
"""

from datetime import UTC, datetime
from typing import Any

from spanplat.db import Database
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.generation import GenerationDefinition
from spanplat.schemas.study import StudyDefinition
from spanplat.services.campaigns.planning import plan_campaign
from spanplat.services.crowd.pools import add_people
from spanplat.services.model_work.generations.defining import create_generation
from spanplat.services.model_work.running import run_campaign
from spanplat.services.model_work.studies.defining import create_study, plan_study
from tests.campaigns import create_campaign
from tests.simulation.large_study import CATEGORIES, DATASET, SYSTEMS

QUALIFICATION, POOL, STUDY, GENERATION = "exam", "passed", "prompts", "maple"
MOST_CAMPAIGNS = 45
"""With those of the study, the qualification and the variants of the prompt study about fifty."""
MOST_MEMBERS = 1_000
ONE_EXAMPLE: dict[str, Any] = {"dataset": DATASET, "splits": ["test"], "examples": ["1"]}


def add_other_work(database: Database, examples: int) -> None:
    """Add it to a study of this many examples: the larger the study, the more of it."""
    for number in range(min(MOST_CAMPAIGNS, examples // 8)):
        _create(database, {"slug": f"small-{number}", "title": f"Small campaign {number}", "kind": "human"})
    _create(
        database,
        {
            "slug": QUALIFICATION,
            "title": "Exam",
            "kind": "qualification",
            "batches": {"regular": 0, "gold": 1},
            "checks": [
                {
                    "name": "faultless",
                    "type": "gold",
                    "item": {"split": "checks", "example": "faultless", "system": SYSTEMS[0]},
                    "golds": [[]],
                }
            ],
            "qualification_given": {"threshold": 0.5, "pool": POOL},
        },
    )
    with database.transaction() as session:
        people = [f"member-{number}" for number in range(min(MOST_MEMBERS, examples))]
        add_people(session, POOL, "prolific", people, datetime.now(UTC))
        create_generation(session, _generation())
    study = StudyDefinition.model_validate(
        {
            "slug": STUDY,
            "title": "Which settings?",
            "gold": "crowd",
            "like": "model-a",
            "data": ONE_EXAMPLE,
            "variants": {"as-it-is": {}, "again": {"concurrency": 2}},
        }
    )
    with database.reading() as session:
        plans = plan_study(session, study)
    create_study(database, study, plans)
    for variant in plans:
        run_campaign(database, study.campaign(variant))


def _create(database: Database, content: dict[str, Any]) -> None:
    categories = [{"name": name} for name in CATEGORIES]
    definition = CampaignDefinition.model_validate({"data": ONE_EXAMPLE, "categories": categories} | content)
    with database.reading() as session:
        plan = plan_campaign(session, definition)
    with database.transaction() as session:
        create_campaign(session, plan)


def _generation() -> GenerationDefinition:
    return GenerationDefinition.model_validate(
        {
            "slug": GENERATION,
            "system": "maple",
            "dataset": DATASET,
            "model": {"provider": "openai", "model": "gpt-4o-mini", "prompt": "Write about {{ source_text }}"},
        }
    )
