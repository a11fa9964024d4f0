"""Response time of the disagreement explorer with many outputs. Run ``python -m bench.explorer``.

The script imports two campaigns over 10,000 outputs, and requests pages of the explorer in one process, first with an empty cache and
then again.
"""

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path
from random import Random

from sqlalchemy import select

from spanplat.db import Database
from spanplat.db.schema import initialise
from spanplat.models import Role, User
from spanplat.schemas.definition import CampaignDefinition
from spanplat.services.accounts.users import add_user
from spanplat.services.campaigns.importing import import_campaign
from spanplat.services.datasets.importing import import_dataset
from spanplat.settings import Settings
from spanplat.text import sha256_of
from spanplat.web.accounts.sign_in import StaffMember
from spanplat.web.app import create_app

SYSTEMS = ("alder", "birch", "cedar", "dogwood")
CATEGORIES = ("Wrong", "Unclear", "Other")
TEXT = "The report says that it rains all day in the north, and nobody in the south knows why. " * 6
AGAIN = 15


def make_campaigns(database: Database, folder: Path, outputs: int) -> None:
    """Import a dataset of this many outputs and two campaigns over all of them."""
    places = [("test", str(number // len(SYSTEMS)), SYSTEMS[number % len(SYSTEMS)]) for number in range(outputs)]
    texts = [f"Report {number}. {TEXT}" for number in range(outputs)]
    dataset = folder / "made.jsonl"
    dataset.write_text(
        "".join(
            json.dumps({"split": split, "example": example, "system": system, "output": text}) + "\n"
            for (split, example, system), text in zip(places, texts, strict=True)
        )
    )
    import_dataset(database, [dataset], name="made")
    for seed, slug in enumerate(("people", "model")):
        random = Random(seed)
        path = folder / f"{slug}.jsonl"
        with path.open("w") as lines:
            for (split, example, system), text in zip(places, texts, strict=True):
                spans = []
                for _ in range(random.randrange(7)):
                    start = random.randrange(400)
                    end = start + random.randrange(5, 80)
                    spans.append(
                        {"start": start, "end": end, "text": text[start:end], "category": random.choice(CATEGORIES)}
                    )
                record = {
                    "campaign": slug,
                    "kind": "external",
                    "dataset": "made",
                    "split": split,
                    "example": example,
                    "system": system,
                    "text": text,
                    "text_sha256": sha256_of(text),
                    "annotator": slug,
                    "annotator_kind": "human",
                    "group": "0",
                    "status": "complete",
                    "spans": spans,
                }
                lines.write(json.dumps(record) + "\n")
        categories = [{"name": name} for name in CATEGORIES]
        definition = CampaignDefinition.model_validate(
            {"slug": slug, "title": slug.title(), "kind": "external", "categories": categories}
        )
        import_campaign(database, path, slug=slug, format="native", definition=definition)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--outputs", type=int, default=10_000)
    parser.add_argument("--short", action="store_true", help="500 outputs")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        settings = Settings(home=home, _env_file=None)
        database = Database(f"sqlite:///{home / 'bench.sqlite3'}")
        initialise(database)
        begin = time.perf_counter()
        make_campaigns(database, home, 500 if arguments.short else arguments.outputs)
        print(f"imported in {time.perf_counter() - begin:.1f} s")
        with database.transaction() as session:
            add_user(session, "viewer@example.org", Role.VIEWER)
        client = create_app(settings, database).test_client()
        with database.reading() as session, client.session_transaction() as cookie:
            cookie["_user_id"] = StaffMember.of(session.scalars(select(User)).one()).get_id()
        address = "/admin/agreement/outputs"
        pair = "reference=people&hypothesis=model"
        pages = {
            "list": f"{address}?{pair}",
            "list, last page": f"{address}?{pair}&page={(arguments.outputs + 49) // 50}",
            "list of one kind": f"{address}?{pair}&type=category",
            "list, a text wanted": f"{address}?{pair}&q=report+77",
            "one output": f"{address}/1234?{pair}" if not arguments.short else f"{address}/123?{pair}",
            "outputs as CSV": f"{address}/table/outputs?{pair}",
        }
        for title, page in pages.items():
            seconds = []
            for _ in range(1 + AGAIN):
                begin = time.perf_counter()
                response = client.get(page)
                seconds.append(time.perf_counter() - begin)
                if response.status_code != 200:
                    raise SystemExit(f"{page}: {response.status}")
            print(f"{title}: first {seconds[0] * 1000:.0f} ms, then {statistics.median(seconds[1:]) * 1000:.0f} ms")
        database.dispose()


if __name__ == "__main__":
    main()
