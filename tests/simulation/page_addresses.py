"""Addresses of every page of the studio, read off the application's routes, so that a new page is measured without being named here.

What stands in the variable parts of addresses, and the questions that some pages need, come from the data. `unknown_routes`
lists those with a part that nothing is known about: say below what stands in it, or in `LEFT_OUT` why there is nothing.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import quote

from flask import Flask
from werkzeug.routing import Rule

from spanplat.formats.exports import EXPORT_FORMATS
from spanplat.web.policy import Access, access_of

Arguments = Mapping[str, Sequence[Any]]
NOT_OF_THE_STUDIO = ("annotator.start",)
"""Open to everybody, and for annotators."""
NO_WORKED_EXAMPLE = "the made study has no worked example with a source that is drawn"
LEFT_OUT: Mapping[str, str] = {
    "annotator.previewed_example_chart": NO_WORKED_EXAMPLE,
    "preview.example_chart": NO_WORKED_EXAMPLE,
    "preview.example_chart_in_practice": NO_WORKED_EXAMPLE,
    "draft_preview.example_chart": NO_WORKED_EXAMPLE,
    "draft_preview.example_chart_in_practice": NO_WORKED_EXAMPLE,
}
"""Endpoints of the studio that are not measured, and why."""
NO_PRACTICE = "the shipped study begins without practice"
NOTHING_DRAWN = "the sources of the research data are texts, of which none is drawn"
LACKING_WHERE_IMPORTED: Mapping[str, str] = {
    "explorer.source_chart": NOTHING_DRAWN,
    "browse.source_chart": NOTHING_DRAWN,
    "preview.source_chart": NOTHING_DRAWN,
    "draft_preview.source_chart": NOTHING_DRAWN,
    "draft_preview.practice_items": NO_PRACTICE,
    "draft_preview.practice_item": NO_PRACTICE,
    "draft_preview.practice_chart": NO_PRACTICE,
    "prompts.show": "campaigns that were imported have no prompt",
}
"""Endpoints that answer nothing in a study whose campaigns were imported, and why."""


class PageAddress(NamedTuple):
    """One thing to ask for."""

    endpoint: str
    address: str


@dataclass(frozen=True)
class Places:
    """What addresses may name, from the data."""

    campaigns: Sequence[str]
    """Slugs; figures compare the first with each of the others."""
    datasets: Sequence[str]
    outputs: Sequence[int]
    """Ids."""
    searches: Sequence[str] = ("display",)
    """Texts to look for: frequent, rare, absent."""
    categories: Sequence[str] = ()
    """Keys."""
    annotators: Sequence[str] = ()
    """Pseudonyms."""
    systems: Sequence[str] = ()
    splits: Sequence[str] = ()
    drafts: Sequence[str] = ()
    """Tokens."""
    uploads: Sequence[str] = ()
    """Tokens."""
    invitations: Sequence[str] = ()
    """Tokens."""
    qualifications: Sequence[str] = ()
    practised: Sequence[str] = ()
    """Campaigns that begin with practice."""
    pools: Sequence[str] = ()
    studies: Sequence[str] = ()
    generations: Sequence[str] = ()
    lacking: Mapping[str, str] = field(default_factory=dict)
    """Endpoints that this study has nothing for, and why."""

    @property
    def pair(self) -> str:
        """The question of every page that compares two campaigns."""
        return f"reference={self.campaigns[0]}&hypothesis={self.campaigns[-1]}"

    @property
    def all_campaigns(self) -> str:
        """The question of every page that compares many campaigns."""
        return "&".join(f"campaign={slug}" for slug in self.campaigns)

    def values(self, endpoint: str, part: str) -> Sequence[Any] | None:
        """Return what may stand in a part of a route's address; None where nothing is known about it."""
        known = self._known
        module = endpoint.partition(".")[0]
        return next((known[name] for name in (f"{endpoint}.{part}", f"{module}.{part}", part) if name in known), None)

    @property
    def _known(self) -> Arguments:
        return {
            "slug": self.campaigns,
            "datasets.slug": self.datasets,
            "datasets.source.slug": self.datasets[:1],
            "prompts.slug": self.campaigns[-1:],
            "output_id": self.outputs,
            "crowd.qualification.slug": self.qualifications,
            "preview.practice_items.slug": self.practised,
            "preview.practice_item.slug": self.practised,
            "preview.practice_chart.slug": self.practised,
            "pools.slug": self.pools,
            "studies.slug": self.studies,
            "studies.table.name": ["study"][: len(self.studies)],
            "generations.slug": self.generations,
            "format_name": [entry.name for entry in EXPORT_FORMATS],
            "batch": [1],
            "language": ["en"],
            "group": ["everybody"],
            "position": [1],
            "number": [0],
            "preview.number": [1],
            "draft_preview.number": [1],
            "chart": [0],
            "drafts.token": self.drafts,
            "draft_preview.token": self.drafts,
            "uploads.token": self.uploads,
            "invitations.token": self.invitations,
            "step": ["start", "data", "categories", "guidelines", "questions", "checks", "assignment", "platform", "review", "text"],
            "agreement_tables.chart.name": ["counts", "distribution"],
            "agreement_tables.table.name": ["headline", "categories", "confusion", "measures"],
            "agreement_tables.statistics.name": ["statistics"],
            "explorer_tables.table.name": ["outputs", "types"],
            "explorer_tables.output_table.name": ["spans"],
            "sentinels.chart.name": ["wider", "fewer"],
            "sentinels.table.name": ["wider", "fewer", "removed"],
            "leaderboard.table.name": ["standings", "measures"],
            "leaderboard.matrix_table.name": ["matrix"],
            "systems.chart.name": ["errors"],
            "systems.table.name": ["systems"],
            "audit.download.name": ["audit"],
            "campaigns.batches_table.name": ["batches"],
            "campaigns.unplaced_table.name": ["unplaced"],
            "crowd.people_table.name": ["people"],
            "crowd.screened_out_table.name": ["screened-out"],
            "crowd.qualification_file.slug": self.qualifications,
            "crowd.qualification_file.name": ["qualification"],
            "pools.members_table.name": ["members"],
            "uploads.problems.name": ["problems"],
            "computed.name": [
                "agreement", "distribution", "sentinels", "leaderboard", "matrix", "systems", *["study"][: len(self.studies)]
            ],
        }  # fmt: skip

    def queries(self, endpoint: str) -> Sequence[str]:
        """Return the questions with which a page is asked for; the empty one is the plain page."""
        return self._questions.get(endpoint) or self._questions.get(endpoint.partition(".")[0], [""])

    @property
    def _questions(self) -> Mapping[str, Sequence[str]]:
        """By endpoint, or by the module of many."""
        many = f"reference={self.campaigns[0]}&{self.all_campaigns}"
        searches = [quote(text) for text in self.searches]
        return {
            "agreement": [self.pair],
            "agreement.show": ["", self.pair],
            "agreement_tables": [self.pair],
            "agreement_tables.statistics": [""],
            "browse": ["", self.all_campaigns, self._browsing[1]],
            "browse.index": self._browsing,
            "campaigns.show": ["", "page=2"],
            "campaigns.unplaced": ["", "page=2", "sort=quote&find=1"],
            "computed": ["&".join([self.pair, self.all_campaigns, *(f"study={slug}" for slug in self.studies)])],
            "studies.table": [f"study={slug}" for slug in self.studies],
            "crowd.people": ["", "page=2", "sort=came-&find=p"],
            "datasets.show": [
                "",
                "page=100",
                "search=fir&place=source",
                f"system={self.systems[0]}",
                *(f"search={text}" for text in searches),
            ],
            "explorer": [self.pair],
            "explorer.index": [
                self.pair,
                *(f"{self.pair}&{one}" for one in ("page=2", "type=category", *(f"q={text}" for text in searches))),
            ],
            "explorer_tables": [self.pair],
            "leaderboard": [many],
            "leaderboard.show": ["", many],
            "leaderboard.matrix": ["", many],
            "sentinels": [self.pair],
            "systems": [self.all_campaigns],
            "systems.show": ["", self.all_campaigns],
        }

    @property
    def _browsing(self) -> list[str]:
        first, last = self.campaigns[0], self.campaigns[-1]
        return [
            "",
            *(f"q={quote(text)}" for text in self.searches),
            *(f"q={quote(text)}&place=either" for text in self.searches[:1]),
            *(f"category={key}" for key in self.categories[:1]),
            *(f"category={key}&campaign={first}" for key in self.categories[:1]),
            *(f"system={system}" for system in self.systems[:1]),
            *(f"annotator={quote(name)}" for name in self.annotators),
            "check=passed",
            "check=failed",
            *(f"marked={marked}" for marked in ("all", "some", "none")),
            f"campaign={first}&campaign={last}&marked=some&page=3",
            "page=150",
            *(
                f"q={quote(text)}&category={key}&marked=some"
                for text in self.searches[:1]
                for key in self.categories[:1]
            ),
        ]


def addresses_of(app: Flask, places: Places) -> Iterator[PageAddress]:
    """Give the addresses of everything that researchers may look at: pages, their parts, charts and downloads."""
    adapter = app.url_map.bind("localhost")
    for rule in _rules(app):
        if rule.endpoint in places.lacking:
            continue
        parts = sorted(rule.arguments)
        for values in itertools.product(*(places.values(rule.endpoint, part) or () for part in parts)):
            address = adapter.build(rule.endpoint, dict(zip(parts, values, strict=True)))
            for query in places.queries(rule.endpoint):
                yield PageAddress(rule.endpoint, f"{address}?{query}" if query else address)


def unknown_routes(app: Flask, places: Places) -> list[str]:
    """Return the routes that no address can be made for."""
    return [
        rule.rule for rule in _rules(app) if any(places.values(rule.endpoint, part) is None for part in rule.arguments)
    ]


def _rules(app: Flask) -> list[Rule]:
    return [
        rule
        for rule in sorted(app.url_map.iter_rules(), key=lambda rule: rule.rule)
        if "GET" in (rule.methods or ())
        and access_of(app, rule.endpoint) is not Access.ANNOTATOR_TOKEN
        and rule.endpoint not in NOT_OF_THE_STUDIO
        and rule.endpoint not in LEFT_OUT
    ]
