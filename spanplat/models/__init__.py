"""The tables, as typed SQLAlchemy models."""

from spanplat.models.amendment import Amendment
from spanplat.models.annotation import Annotation, CheckResult, JudgedSpan, Qualification, Span, Suggestion, Unplaced
from spanplat.models.assignment import (
    COUNTED,
    FINISHED,
    REPLACED,
    Annotator,
    Assignment,
    AssignmentStatus,
    Participation,
    Pool,
    PoolMember,
)
from spanplat.models.authentication import EndedSession, RecoveryCode, SecondFactor
from spanplat.models.base import Base
from spanplat.models.campaign import Batch, BatchItem, Campaign, CampaignStatus, Category, Item, ItemOutput, ItemRole
from spanplat.models.dataset import Dataset, Example, Output, SourceText, System, Upload
from spanplat.models.draft import Draft
from spanplat.models.generation import Generation, GenerationCall
from spanplat.models.people import ApiToken, Event, Invitation, Role, Scope, User
from spanplat.models.study import Study
from spanplat.models.work import AgreementResult, ClaimState, Completion, Job, JobState, ModelBatch, ModelClaim

__all__ = [
    "COUNTED",
    "FINISHED",
    "REPLACED",
    "AgreementResult",
    "Amendment",
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
    "ClaimState",
    "Completion",
    "Dataset",
    "Draft",
    "EndedSession",
    "Event",
    "Example",
    "Generation",
    "GenerationCall",
    "Invitation",
    "Item",
    "ItemOutput",
    "ItemRole",
    "Job",
    "JobState",
    "JudgedSpan",
    "ModelBatch",
    "ModelClaim",
    "Output",
    "Participation",
    "Pool",
    "PoolMember",
    "Qualification",
    "RecoveryCode",
    "Role",
    "Scope",
    "SecondFactor",
    "SourceText",
    "Span",
    "Study",
    "Suggestion",
    "System",
    "Unplaced",
    "Upload",
    "User",
]
