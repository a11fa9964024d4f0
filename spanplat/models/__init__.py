"""Tables of the database, as typed SQLAlchemy models."""

from spanplat.models.agreement_result import AgreementResult
from spanplat.models.amendment import Amendment
from spanplat.models.annotation import (
    SPAN_COLUMNS,
    Annotation,
    CheckResult,
    JudgedSpan,
    Qualification,
    Span,
    Suggestion,
    Unplaced,
)
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
from spanplat.models.job import Job, JobState
from spanplat.models.model_work import (
    ClaimState,
    Completion,
    Generation,
    GenerationCall,
    ModelBatch,
    ModelCall,
    ModelClaim,
    Study,
)
from spanplat.models.people import ApiToken, Event, Invitation, Role, Scope, User

__all__ = [
    "COUNTED",
    "FINISHED",
    "REPLACED",
    "SPAN_COLUMNS",
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
    "ModelCall",
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
