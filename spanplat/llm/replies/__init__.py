"""Reading what a model replied: its spans with their places, its answers, and what of it has no place."""

from spanplat.llm.replies.placement import LocatedSpan, UnplacedSpan
from spanplat.llm.replies.reading import Reading, read_reply
from spanplat.llm.replies.unreadable import UnreadableReply

__all__ = ["LocatedSpan", "Reading", "UnplacedSpan", "UnreadableReply", "read_reply"]
