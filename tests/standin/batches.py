"""The batch interfaces of both providers; a batch ends when the stand-in is told so."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.standin.script import Trouble

Complete = Callable[[str, Mapping[str, Any]], tuple[int, dict[str, Any]]]
"""Answers one request of a batch: status and body."""


@dataclass
class Batch:
    """One batch."""

    id: str
    interface: str
    requests: list[tuple[str, dict[str, Any]]]
    metadata: dict[str, str] = field(default_factory=dict)
    endpoint: str = ""
    created_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    ended: bool = False
    cancelled: bool = False
    expired: bool = False
    refused: dict[str, str] | None = None
    """Why the whole of it came to nothing: code and message."""
    results: list[dict[str, Any]] = field(default_factory=list)
    errors: list[dict[str, Any]] = field(default_factory=list)
    not_begun: list[dict[str, Any]] = field(default_factory=list)
    """What results say of requests that were never begun."""


class Batches:
    """All batches and files."""

    def __init__(self, complete: Complete) -> None:
        self._complete = complete
        self.most_requests: int | None = None
        """Requests of all batches under way together; one that has too many is refused."""
        self.troubles: list[Trouble] = []
        """Answers to the next batches handed in; one with a status of 500 or more has taken the batch all the same."""
        self.cuts = 0
        """How many of the next downloads of results break off in the middle."""
        self.batches: dict[str, Batch] = {}
        self.files: dict[str, str] = {}

    def upload(self, content: str) -> dict[str, Any]:
        """Keep a file."""
        name = f"file-{len(self.files) + 1}"
        self.files[name] = content
        return {
            "id": name,
            "object": "file",
            "bytes": len(content),
            "created_at": 1_760_000_000,
            "filename": f"{name}.jsonl",
            "purpose": "batch",
            "status": "processed",
        }

    def create(self, interface: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Make a batch of a file (OpenAI) or of the requests given (Anthropic)."""
        name = f"batch_{len(self.batches) + 1}"
        if interface == "messages":
            requests = [(entry["custom_id"], entry["params"]) for entry in body["requests"]]
            batch = Batch(name, interface, requests)
        else:
            lines = [json.loads(line) for line in self.files[body["input_file_id"]].split("\n") if line]
            requests = [(line["custom_id"], line["body"]) for line in lines]
            batch = Batch(name, interface, requests, dict(body.get("metadata") or {}), body["endpoint"])
        under_way = sum(len(other.requests) for other in self.batches.values() if not other.ended)
        if self.most_requests is not None and under_way + len(requests) > self.most_requests:
            batch.ended, batch.refused = (
                True,
                {"code": "token_limit_exceeded", "message": "Enqueued token limit reached"},
            )
        self.batches[name] = batch
        return self.describe(batch)

    def list(self, interface: str) -> dict[str, Any]:
        """Return one page with all batches, the newest first."""
        messages = interface == "messages"
        found = [self.describe(batch) for batch in self.batches.values() if (batch.interface == "messages") == messages]
        page = {"data": found[::-1], "has_more": False}
        return page | ({"first_id": None, "last_id": None} if messages else {"object": "list"})

    def finish(self, begun: int | None = None, *, expired: bool = False) -> None:
        """End all batches: answer what was asked in them, or only the first few, where they were cancelled or expire."""
        for batch in self.batches.values():
            if not batch.ended:
                batch.ended, batch.expired = True, expired
                begun = 0 if begun is None and batch.cancelled else begun
                for name, body in batch.requests[:begun]:
                    self._answer(batch, name, body)
                batch.not_begun = [
                    self._not_begun(batch, name) for name, _ in batch.requests[len(batch.requests[:begun]) :]
                ]

    def cancel(self, name: str) -> dict[str, Any]:
        """Begin to cancel a batch."""
        batch = self.batches[name]
        batch.cancelled = True
        return self.describe(batch)

    def _not_begun(self, batch: Batch, name: str) -> dict[str, Any]:
        if batch.interface == "messages":
            return {"custom_id": name, "result": {"type": "expired" if batch.expired else "canceled"}}
        code = "batch_expired" if batch.expired else "batch_cancelled"
        error = {"code": code, "message": "This request was not executed."}
        return {"id": f"line-{name}", "custom_id": name, "response": None, "error": error}

    def describe(self, batch: Batch) -> dict[str, Any]:
        """Return a batch in its provider's form."""
        good, bad = len(batch.results), len(batch.errors)
        if batch.interface == "messages":
            rest = len(batch.not_begun)
            under_way = "canceling" if batch.cancelled else "in_progress"
            return {
                "id": batch.id,
                "type": "message_batch",
                "processing_status": "ended" if batch.ended else under_way,
                "request_counts": {
                    "processing": 0 if batch.ended else len(batch.requests),
                    "succeeded": good,
                    "errored": bad,
                    "canceled": 0 if batch.expired else rest,
                    "expired": rest if batch.expired else 0,
                },
                "created_at": batch.created_at.isoformat(),
                "expires_at": (batch.created_at + timedelta(days=1)).isoformat(),
                "ended_at": datetime.now(UTC).isoformat() if batch.ended else None,
                "results_url": f"/v1/messages/batches/{batch.id}/results" if batch.ended else None,
            }
        errors = batch.errors + batch.not_begun
        if batch.ended:
            self.files[f"{batch.id}-output"] = _lines(batch.results)
            self.files[f"{batch.id}-errors"] = _lines(errors)
        return {
            "id": batch.id,
            "object": "batch",
            "endpoint": batch.endpoint,
            "input_file_id": "file-1",
            "completion_window": "24h",
            "created_at": int(batch.created_at.timestamp()),
            "status": _status(batch),
            "errors": {"object": "list", "data": [batch.refused]} if batch.refused else None,
            "metadata": batch.metadata,
            "output_file_id": f"{batch.id}-output" if batch.results else None,
            "error_file_id": f"{batch.id}-errors" if errors else None,
            "request_counts": {"total": len(batch.requests), "completed": good, "failed": bad},
        }

    def results(self, name: str) -> str:
        """Return the results of a message batch."""
        batch = self.batches[name]
        return _lines([*batch.errors, *batch.results, *batch.not_begun])

    def _answer(self, batch: Batch, name: str, body: dict[str, Any]) -> None:
        status, answer = self._complete(batch.interface, body)
        if batch.interface == "messages":
            good = {"type": "succeeded", "message": answer}
            result = good if status == 200 else {"type": "errored", "error": answer}
            line: dict[str, Any] = {"custom_id": name, "result": result}
        else:
            line = {
                "id": f"line-{name}",
                "custom_id": name,
                "response": {"status_code": status, "body": answer},
                "error": None,
            }
        (batch.results if status == 200 else batch.errors).append(line)


def _status(batch: Batch) -> str:
    if not batch.ended:
        return "cancelling" if batch.cancelled else "in_progress"
    if batch.refused:
        return "failed"
    return "expired" if batch.expired else "cancelled" if batch.cancelled else "completed"


def _lines(records: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
