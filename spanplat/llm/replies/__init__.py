"""Parsing of replies: spans with their places, answers, and quotes without a place."""

from spanplat.llm.replies.placement import quote_of, rule_of
from spanplat.llm.replies.reading import ParsedReply, read_reply
from spanplat.llm.replies.unreadable import UnreadableReply

__all__ = ["ParsedReply", "UnreadableReply", "quote_of", "read_reply", "rule_of"]
