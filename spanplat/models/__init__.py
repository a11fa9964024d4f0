"""The tables, as typed SQLAlchemy models."""

from spanplat.models.annotation import Annotation, CheckResult, JudgedSpan, Qualification, Span, Unplaced
from spanplat.models.assignment import (
    COUNTED,
    FINISHED,
    REPLACED,
    Annotator,
    Assignment,
    AssignmentStatus,
    Participation,
)
from spanplat.models.base import Base
from spanplat.models.campaign import Batch, BatchItem, Campaign, CampaignStatus, Category, Item, ItemOutput, ItemRole
from spanplat.models.dataset import Dataset, Example, Output, SourceText, System
from spanplat.models.people import ApiToken, Event, Role, User
from spanplat.models.work import AgreementResult, Completion, Job, JobState

__all__ = [
    "COUNTED",
    "FINISHED",
    "REPLACED",
    "AgreementResult",
    "Annotation",
    "Annotator",
    "ApiToken",
    "Assignment",
    "AssignmentStatus",
    "Base",
    "Batch",
    "BatchItem",
    "Campaign",
    "CampaignStatus",
    "Category",
    "CheckResult",
    "Completion",
    "Dataset",
    "Event",
    "Example",
    "Item",
    "ItemOutput",
    "ItemRole",
    "Job",
    "JobState",
    "JudgedSpan",
    "Output",
    "Participation",
    "Qualification",
    "Role",
    "SourceText",
    "Span",
    "System",
    "Unplaced",
    "User",
]
