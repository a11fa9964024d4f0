"""Search for texts by what they contain, with and without the index of trigrams."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import delete, insert, select, text, update

from spanplat.db import Database
from spanplat.models import Dataset, Example, Output, System
from spanplat.services.datasets.browsing import BrowseFilter, describe_outputs, find_outputs
from spanplat.services.datasets.importing import import_dataset
from spanplat.services.datasets.search import ExcerptPart, SearchPlace, contains, excerpt
from spanplat.text import sha256_of

TEXTS = (
    "A short report.",
    "It rains 🌧️ all day.",
    "درجة الحرارة 21 مئوية.",
    "今日は北部で雨が降る。",
    'He said "50% off" (a_b), didn\'t he?',
    "ÉTÉ à Łódź",
)
LETTERS = "aAzZ éÉłŁ 雨降で درجة 🌧😀 019 %_\\\"'*()^:-+.,\n"
"""Characters whose cases fold alike everywhere."""


@pytest.fixture
def outputs(database: Database) -> list[int]:
    """Ids of outputs with the texts, in order; the source of each holds its number and its text backwards, deep inside."""
    with database.transaction() as session:
        session.add_all([Dataset(slug="d", name="d"), System(slug="s", name="s")])
        session.flush()
        dataset, system = session.scalars(select(Dataset.id)).one(), session.scalars(select(System.id)).one()
        ids = []
        for number, content in enumerate(TEXTS):
            example = Example(
                dataset_id=dataset, split="test", key=str(number), source_plain=f"{number}\n{content[::-1]}"
            )
            session.add(example)
            session.flush()
            output = Output(example_id=example.id, system_id=system, text=content, text_sha256=sha256_of(content))
            session.add(output)
            session.flush()
            ids.append(output.id)
    return ids


def found(database: Database, wanted: str, place: SearchPlace = "text") -> list[int]:
    with database.reading() as session:
        rows = select(Output.id).join(Example).where(contains(session, wanted, place)).order_by(Output.id)
        return list(session.scalars(rows))


@pytest.mark.parametrize(
    ("wanted", "places"),
    [
        ("report", [0]),
        ("REPORT", [0]),
        ("eport.", [0]),
        ("🌧️ all", [1]),
        ("الحرارة", [2]),
        ("北部で", [3]),
        ("雨", [3]),
        ("été", [5]),
        ("é", [5]),
        ("łódź", [5]),
        ('"50% off"', [4]),
        ("a_b", [4]),
        ("a%b", []),
        ("didn't", [4]),
        ("report OR rains", []),
        ("rain*", []),
        ("text:report", []),
        ("\\", []),
        ("a", [0, 1, 4]),
        ("", [0, 1, 2, 3, 4, 5]),
    ],
)
def test_any_part_of_a_text_is_found_whatever_its_case_and_script(
    database: Database, outputs: list[int], wanted: str, places: list[int]
) -> None:
    assert found(database, wanted) == [outputs[place] for place in places]


@pytest.mark.parametrize(
    "wanted", ["\x00", "a\x00b", "\ud800", '"', '"""', "'", "NEAR(", "AND", "^", "%", "_", "{", "x" * 10_000]
)
def test_no_query_is_an_error(database: Database, outputs: list[int], wanted: str) -> None:
    assert set(found(database, wanted)) <= set(outputs)
    assert set(found(database, wanted, "either")) <= set(outputs)


def test_sources_are_searched_where_that_is_asked_for(database: Database, outputs: list[int]) -> None:
    assert found(database, "troper", "source") == outputs[:1]
    assert found(database, "troper") == []
    assert found(database, "report", "source") == []
    assert found(database, "report", "either") == found(database, "troper", "either") == outputs[:1]


@pytest.mark.usefixtures("outputs")
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(texts=st.lists(st.text(LETTERS, max_size=30), min_size=1, max_size=8), data=st.data())
def test_a_search_finds_what_looking_at_every_text_finds(
    database: Database, texts: list[str], data: st.DataObject
) -> None:
    some = data.draw(st.sampled_from(texts))
    begin = data.draw(st.integers(0, max(0, len(some) - 1)))
    wanted = data.draw(st.one_of(st.just(some[begin : begin + 6].swapcase()), st.text(LETTERS, max_size=6)))
    with database.transaction() as session:
        session.execute(delete(Output))
        session.execute(delete(Example))
        dataset, system = session.scalars(select(Dataset.id)).one(), session.scalars(select(System.id)).one()
        ids = session.scalars(
            insert(Example).returning(Example.id, sort_by_parameter_order=True),
            [{"dataset_id": dataset, "split": "more", "key": str(n)} for n in range(len(texts))],
        ).all()
        session.execute(
            insert(Output),
            [
                {"example_id": i, "system_id": system, "text": one, "text_sha256": sha256_of(one)}
                for i, one in zip(ids, texts, strict=True)
            ],
        )
    with database.reading() as session:
        got = sorted(session.scalars(select(Output.text).where(contains(session, wanted))))
    assert got == sorted(one for one in texts if wanted.casefold() in one.casefold())


def test_the_index_follows_what_is_deleted_and_changed(database: Database, outputs: list[int]) -> None:
    with database.transaction() as session:
        session.execute(delete(Output).where(Output.id == outputs[0]))
        session.execute(update(Output).where(Output.id == outputs[1]).values(text="It snows."))
    assert found(database, "report") == []
    assert found(database, "rains") == []
    assert found(database, "snows") == [outputs[1]]
    if database.is_sqlite:
        with database.transaction() as session:
            session.execute(text("INSERT INTO output_search(output_search) VALUES ('integrity-check')"))


def test_a_database_without_the_index_finds_the_same(database: Database, outputs: list[int]) -> None:
    wanted = ("report", "REPORT", "été", "北部で", "a", "50% off", "nothing")
    with_index = [found(database, one) for one in wanted]
    with database.transaction() as session:
        if database.is_sqlite:
            for act in ("insert", "delete", "update"):
                session.execute(text(f"DROP TRIGGER output_search_{act}"))
            session.execute(text("DROP TABLE output_search"))
        else:
            session.execute(text("DROP INDEX ix_output_text_trgm"))
    assert [found(database, one) for one in wanted] == with_index
    assert with_index[0] == outputs[:1]


def test_the_databases_use_the_index(database: Database, outputs: list[int]) -> None:
    with database.reading() as session:
        wanted = select(Output.id).where(contains(session, "report"))
        statement = str(wanted.compile(session.connection(), compile_kwargs={"literal_binds": True}))
        if database.is_sqlite:
            plan = "\n".join(str(row) for row in session.execute(text(f"EXPLAIN QUERY PLAN {statement}")))
            assert "VIRTUAL TABLE INDEX" in plan
        else:
            session.execute(text("SET LOCAL enable_seqscan = off"))
            plan = "\n".join(row[0] for row in session.execute(text(f"EXPLAIN {statement.replace('%%', '%')}")))
            assert "ix_output_text_trgm" in plan
    assert outputs


def test_an_imported_source_is_searched_however_deep_its_values_lie(database: Database, tmp_path: Path) -> None:
    path = tmp_path / "made.jsonl"
    path.write_text(
        '{"example": "1", "system": "s", "output": "Rain.", "source": {"days": [{"city": "Čáslav", "celsius": 21.5}]}}\n'
        '{"example": "2", "system": "s", "output": "Rain.", "source": "in Brno"}\n'
    )
    import_dataset(database, [path], name="made")
    with database.reading() as session:
        rows = [
            describe_outputs(session, one, find_outputs(session, one))
            for one in (BrowseFilter(search=wanted, place="source") for wanted in ("čáslav", "21.5", "brno", "celsius"))
        ]
        assert len(find_outputs(session, BrowseFilter(search="rain", place="either"))) == 2
    assert [[row.key for row in part] for part in rows] == [["1"], ["1"], ["2"], []]
    assert [part.text for part in rows[0][0].source_excerpt if part.is_hit] == ["Čáslav"]


def test_an_excerpt_stands_around_its_first_hit_and_names_every_hit_in_it() -> None:
    long = f"{'before ' * 40}Rain comes, and rain goes. {'after ' * 60}"
    parts = excerpt(long, "RAIN", 120)
    assert [part.text for part in parts if part.is_hit] == ["Rain", "rain"]
    assert (parts[0], parts[-1]) == (ExcerptPart("… ", False), ExcerptPart(" …", False))
    inner = "".join(part.text for part in parts[1:-1])
    assert len(inner) == 120
    assert inner in long


@given(st.text(max_size=60), st.text(max_size=4), st.integers(1, 80))
def test_an_excerpt_of_a_short_text_is_all_of_it(content: str, wanted: str, more: int) -> None:
    assert "".join(part.text for part in excerpt(content, wanted, len(content) + more)) == content
