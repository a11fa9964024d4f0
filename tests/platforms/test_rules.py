"""What the platforms' rules say about a definition: refused, to be confirmed, or worth a look; never about direct links."""

from typing import Any

import pytest

from spanplat.platforms.rules import Money, hourly_pay, lint, read_money
from spanplat.schemas.definition import CampaignDefinition

GOOD: dict[str, Any] = {
    "slug": "study",
    "title": "Study",
    "categories": [{"name": "Wrong"}],
    "data": {"dataset": "reports"},
    "guidelines": "Mark errors. Please do not use a language model.",
    "consent": {
        "text": "The university keeps some data about you. Ten minutes, £1.60; stop at any time. a@example.org"
    },
    "platform": {
        "service": "prolific",
        "reward": "£1.60",
        "minutes": 10,
        "codes": {"completed": "DONE", "no_consent": "NO-CONSENT"},
    },
}
ITEM = {"split": "test", "example": "0", "system": "alder"}
HIDDEN = {"name": "blatant", "type": "must_mark", "item": ITEM, "expected": {"quote": "x"}}


def findings(platform: dict[str, Any] | None = None, **parts: Any) -> dict[str, str]:
    content = GOOD | parts | {"platform": GOOD["platform"] | (platform or {})}
    return {finding.rule: finding.weight for finding in lint(CampaignDefinition.model_validate(content))}


def test_nothing_is_found_where_all_is_well() -> None:
    assert findings() == {}


@pytest.mark.parametrize(
    ("platform", "parts", "found"),
    [
        ({"reward": "£0.90"}, {}, {"pay-minimum": "refuse"}),
        ({"reward": "$1.30"}, {}, {"pay-minimum": "refuse"}),
        ({"reward": "£1.20"}, {}, {"pay-recommended": "advise"}),
        ({"reward": ""}, {}, {"pay-known": "advise"}),
        ({"codes": {"completed": "SAME", "no_consent": "SAME"}}, {}, {"codes-distinct": "refuse"}),
        ({"codes": {"no_consent": "BYE"}}, {}, {"code-completed": "advise"}),
        ({"codes": {"completed": "DONE"}}, {}, {"code-no-consent": "advise"}),
        (
            {},
            {"checks": [HIDDEN | {"on_fail": "screen_out"}]},
            {"code-screened-out": "refuse", "hidden-check-screens-out": "confirm"},
        ),
        ({}, {"checks": [HIDDEN | {"on_fail": "exclude"}]}, {}),
        ({}, {"checks": [HIDDEN | {"on_fail": "withhold_bonus"}]}, {"bonus-known": "advise"}),
        ({"bonus": "£1"}, {"checks": [HIDDEN | {"on_fail": "withhold_bonus"}]}, {}),
        (
            {"bonus": "£1"},
            {"checks": [{"name": "fast", "type": "min_seconds", "seconds": 9, "on_fail": "withhold_bonus"}]},
            {"speed": "confirm"},
        ),
        (
            {"codes": {"completed": "DONE", "no_consent": "BYE", "failed_attention": "ATT"}},
            {},
            {"failed-attention": "advise"},
        ),
        ({}, {"consent": None}, {"consent": "advise"}),
        ({}, {"language": "fr"}, {"consent-unread": "advise"}),
        ({}, {"guidelines": "Mark errors."}, {"tools": "advise"}),
        ({}, {"annotators": {"max_batches": 3}}, {"one-place": "advise"}),
    ],
)
def test_each_rule_speaks_when_it_is_broken(
    platform: dict[str, Any], parts: dict[str, Any], found: dict[str, str]
) -> None:
    assert findings(platform, **parts) == found


def test_the_gravest_comes_first_and_each_says_where_it_is_written_and_when_it_was_read() -> None:
    content = GOOD | {"consent": None, "platform": GOOD["platform"] | {"reward": "£0.10"}}
    found = lint(CampaignDefinition.model_validate(content))
    assert [finding.weight for finding in found] == ["refuse", "advise"]
    for finding in found:
        assert finding.source.title
        assert finding.source.url.startswith("https://")
        assert finding.source.read.year >= 2026


def test_direct_links_and_models_stand_under_no_platforms_rules() -> None:
    assert findings({"service": "direct", "reward": "£0.10"}) == {}
    assert findings(kind="llm", model={"provider": "overlap"}) == {}


@pytest.mark.parametrize(
    ("text", "money"),
    [
        ("£2.40", Money("£", 2.4)),
        ("2 tokens", None),
        ("about $ 1,50 each", Money("$", 1.5)),
        ("", None),
        ("£1,000", Money("£", 1000)),
        ("£1,000, by bank transfer", Money("£", 1000)),
        ("€1.000", Money("€", 1000)),
        ("$1.125", Money("$", 1.125)),
        ("$12,345,678.90", Money("$", 12345678.9)),
        ("€1.234,5", Money("€", 1234.5)),
        ("$0.125", Money("$", 0.125)),
        ("£1000", Money("£", 1000)),
        ("£1,0000", Money("£", 1)),
    ],
)
def test_amounts_are_read_with_their_currency(text: str, money: Money | None) -> None:
    assert read_money(text) == money
    assert hourly_pay(text, 30) == (None if money is None else Money(money.currency, 2 * money.amount))
    assert hourly_pay(text, None) is None
