"""Checks of a campaign's definition against the rules of crowdsourcing platforms, before the campaign opens.

The messages are our own summary of the rules, with the source and the date. Platforms change their rules, so a finding is a reason to
check. Only definitions that would deny people their pay are refused.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from typing import Literal

from spanplat.platforms.consent import TOPICS, topics_missed
from spanplat.schemas.definition import CampaignDefinition

Weight = Literal["refuse", "confirm", "advise"]


@dataclass(frozen=True)
class Source:
    """Page of a platform that states a rule."""

    title: str
    url: str
    read: date
    """Date on which we read the page."""


_HELP = "https://researcher-help.prolific.com/en/article"
_READ = date(2026, 11, 21)
PAY = Source(
    "Prolific's payment principles",
    "https://researcher-help.prolific.com/hc/en-gb/articles/4407695146002-Prolific-s-payment-principles",
    _READ,
)
MEDIAN_PAY = Source("Prolific: studies that pay too little, judged by the median time", f"{_HELP}/4dd6a0", _READ)
ATTENTION = Source("Prolific's attention and comprehension check policy", f"{_HELP}/fb63bb", _READ)
REJECTING = Source("Prolific: who may be rejected, and who not", f"{_HELP}/f75ea9", _READ)
CONSENT = Source("Prolific: getting consent", f"{_HELP}/a5fc5c", _READ)
TOOLS = Source(
    "Prolific: language models in studies",
    "https://researcher-help.prolific.com/en/articles/445207-how-do-i-prevent-ai-generated-responses-in-my-study",
    _READ,
)
SCREENING = Source(
    "Prolific: being screened out of a study",
    "https://participant-help.prolific.com/hc/en-gb/articles/14195058610844-Can-I-be-screened-out-of-a-study",
    _READ,
)
STUDIES = Source(
    "Prolific's API: a study, its places and completion codes",
    "https://docs.prolific.com/api-reference/studies/get-study",
    _READ,
)
MINIMUM_HOURLY = {"£": 6.0, "$": 8.0}
"""Smallest pay per hour by currency (source: `PAY`)."""
RECOMMENDED_HOURLY = {"£": 9.0, "$": 12.0}
"""Recommended pay per hour by currency (source: `PAY`)."""
_MONEY = re.compile(
    r"""
    (?P<currency>[£$]|(?P<euro>€))\s*
    # Groups of thousands: with commas, and amounts in euros with points too. $1.125 is little more than a dollar.
    (?P<whole>[1-9]\d{0,2}(?P<sign>,|(?(euro)\.|(?!)))\d{3}(?:(?P=sign)\d{3})*(?!\d)|\d+)
    (?:[.,](?P<decimals>\d+))?
    """,
    re.VERBOSE,
)


@dataclass(frozen=True)
class Finding:
    """A part of a definition that a platform's rules concern."""

    rule: str
    weight: Weight
    """``refuse``: the campaign cannot open; ``confirm``: it opens after a confirmation; ``advise``: somebody should check it."""
    path: str
    """Path in the definition."""
    message: str
    source: Source
    """Page that states the rule."""


@dataclass(frozen=True)
class Money:
    """An amount with its currency."""

    currency: str
    amount: float


def read_money(text: str) -> Money | None:
    """Parse an amount such as ``£2.40``; return None if there is none."""
    found = _MONEY.search(text)
    if found is None:
        return None
    # A comma is used in both ways, as in £2,40 and £1,000. Amounts have two decimals, so three digits are a group of thousands.
    whole = re.sub("[.,]", "", found["whole"])
    return Money(found["currency"], float(f"{whole}.{found['decimals'] or 0}"))


def hourly_pay(reward: str, minutes: float | None) -> Money | None:
    """Return the hourly pay of a reward; None if the reward or the time is unknown."""
    money = read_money(reward)
    return Money(money.currency, money.amount * 60 / minutes) if money is not None and minutes else None


def lint(definition: CampaignDefinition) -> list[Finding]:
    """Return the findings of the platform's rules, the most serious first; none for campaigns with direct links."""
    # Model campaigns and imported ones recruit nobody.
    if not definition.platform.profile.is_marketplace or definition.kind not in ("human", "qualification"):
        return []
    findings = [finding for rule in _RULES for finding in rule(definition)]
    return sorted(findings, key=lambda finding: ("refuse", "confirm", "advise").index(finding.weight))


def refusals(definition: CampaignDefinition) -> list[Finding]:
    """Return the findings with which a campaign can be neither created nor opened."""
    return [finding for finding in lint(definition) if finding.weight == "refuse"]


def _pay(definition: CampaignDefinition) -> Iterator[Finding]:
    platform = definition.platform
    hourly = hourly_pay(platform.reward, platform.minutes)
    if hourly is None:
        message = "say what a batch pays and how long it takes, so that the pay per hour can be checked and shown"
        yield Finding("pay-known", "advise", "platform.reward", message, MEDIAN_PAY)
    # Only for these currencies is a minimum known here.
    elif hourly.currency in MINIMUM_HOURLY:
        shown, least = f"{hourly.currency}{hourly.amount:.2f}", MINIMUM_HOURLY[hourly.currency]
        advised = RECOMMENDED_HOURLY[hourly.currency]
        if hourly.amount < least:
            message = f"{shown} an hour is below the minimum of {hourly.currency}{least:g}; raise the reward or shorten the batch"
            yield Finding("pay-minimum", "refuse", "platform.reward", message, PAY)
        elif hourly.amount < advised:
            message = f"{shown} an hour is allowed; {hourly.currency}{advised:g} and more is recommended"
            yield Finding("pay-recommended", "advise", "platform.reward", message, PAY)


def _codes(definition: CampaignDefinition) -> Iterator[Finding]:
    codes = definition.platform.codes
    stated = [(name, code) for name, code in codes.model_dump().items() if code is not None]
    for position, (name, code) in enumerate(stated):
        for other, same in stated[:position]:
            if code == same:
                message = f"{other} and {name} have the same code {code!r}, so the platform cannot tell them apart; change one"
                yield Finding("codes-distinct", "refuse", f"platform.codes.{name}", message, STUDIES)
    if definition.platform.profile.tells_outcomes_by_code:
        if codes.completed is None:
            message = "there is no code for completed work, so people cannot show that they are done; add one"
            yield Finding("code-completed", "advise", "platform.codes.completed", message, STUDIES)
        if codes.screened_out is None and any(check.on_fail == "screen_out" for check in definition.checks):
            message = "a check screens people out, but there is no code by which they get the reward for it; add one"
            yield Finding("code-screened-out", "refuse", "platform.codes.screened_out", message, SCREENING)
        if codes.no_consent is None and definition.consent is not None:
            message = "there is no code for people who do not agree; they have to return the study by hand"
            yield Finding("code-no-consent", "advise", "platform.codes.no_consent", message, CONSENT)


def _checks(definition: CampaignDefinition) -> Iterator[Finding]:
    for position, check in enumerate(definition.checks):
        path = f"checks.{position}"
        if check.on_fail == "screen_out" and not check.allows_rejection:
            message = (
                f"check {check.name!r} sends people away for how they marked or how fast they were, which is no fair attention "
                "check: that is allowed as screening, early, at a fixed reward of at least £0.10 or $0.14, and never with a rejection"
            )
            yield Finding("hidden-check-screens-out", "confirm", path, message, SCREENING)
        if check.looks_at_time and check.on_fail in ("screen_out", "withhold_bonus"):
            message = (
                f"check {check.name!r} costs people money for being fast; platforms accept speed as a ground only beyond three "
                "standard deviations from the mean of a whole study, and not for one page, so rather use note, warn or exclude"
            )
            yield Finding("speed", "confirm", path, message, REJECTING)
        if check.on_fail == "withhold_bonus" and not definition.platform.bonus:
            message = f"check {check.name!r} withholds a bonus, but no bonus is promised; state platform.bonus"
            yield Finding("bonus-known", "advise", path, message, PAY)
    instructed = any(check.allows_rejection for check in definition.checks)
    if definition.platform.codes.failed_attention is not None and not instructed:
        message = (
            "there is a code for failed attention, but no instructed question that could lead to it: failing marked or gold items "
            "is no ground for a rejection"
        )
        yield Finding("failed-attention", "advise", "platform.codes.failed_attention", message, ATTENTION)


def _consent(definition: CampaignDefinition) -> Iterator[Finding]:
    if definition.consent is None:
        message = "nobody is asked for consent; add consent with a version"
        yield Finding("consent", "advise", "consent", message, CONSENT)
        return
    missed = topics_missed(definition.consent.text, definition.language)
    if missed is None:
        told = "; ".join(TOPICS.values())
        message = f"the search for missing topics does not know {definition.language!r}: check yourself that the consent says {told}"
        yield Finding("consent-unread", "advise", "consent.text", message, CONSENT)
        return
    for topic in missed:
        message = f"the consent does not seem to say {TOPICS[topic]}: none of the usual words for it occurs"
        yield Finding("consent-topics", "advise", "consent.text", message, CONSENT)


def _tools(definition: CampaignDefinition) -> Iterator[Finding]:
    text = definition.guidelines.casefold()
    # With spaces around it, because "ai" is a part of many words.
    if definition.language.startswith("en") and not any(word in text for word in ("language model", "chatgpt", " ai ")):
        message = "if people are not to use language models or other tools, the guidelines have to say so"
        yield Finding("tools", "advise", "guidelines", message, TOOLS)


def _links(definition: CampaignDefinition) -> Iterator[Finding]:
    platform = definition.platform.profile
    if platform.one_place_in_study and definition.annotators.max_batches > 1:
        message = (
            f"{platform.title} gives one person one place in a study; for further batches publish it again, "
            "or publish another study"
        )
        yield Finding("one-place", "advise", "annotators.max_batches", message, STUDIES)


_RULES: tuple[Callable[[CampaignDefinition], Iterator[Finding]], ...] = (
    _pay,
    _codes,
    _checks,
    _consent,
    _tools,
    _links,
)
