"""Attention checks, gold items and time floors: the expected work on an item, and the consequences of a failure.

To add a kind, write a module here and add it to the union below. Forms, validation, planning, scoring and reports use this union.
"""

from typing import Annotated, get_args

from pydantic import Field

from spanplat.schemas.checks.check import Check, CheckedWork, ExpectedSpan, Golds, OutputReference
from spanplat.schemas.checks.gold import GoldCheck, PracticeItem
from spanplat.schemas.checks.instructed import InstructedCheck
from spanplat.schemas.checks.known_answer import KnownAnswerCheck
from spanplat.schemas.checks.must_abstain import MustAbstainCheck
from spanplat.schemas.checks.must_mark import MustMarkCheck
from spanplat.schemas.checks.time_floor import TimeFloorCheck

_Kind = MustMarkCheck | MustAbstainCheck | GoldCheck | KnownAnswerCheck | InstructedCheck | TimeFloorCheck
AnyCheck = Annotated[_Kind, Field(discriminator="type")]
CHECK_KINDS: tuple[type[Check], ...] = get_args(_Kind)
"""In the order in which forms offer them."""

__all__ = [
    "CHECK_KINDS",
    "AnyCheck",
    "Check",
    "CheckedWork",
    "ExpectedSpan",
    "GoldCheck",
    "Golds",
    "MustAbstainCheck",
    "MustMarkCheck",
    "OutputReference",
    "PracticeItem",
]
