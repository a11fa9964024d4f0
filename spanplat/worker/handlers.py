"""What the worker can do: a handler for each kind of job."""

from spanplat.worker.performing import Handler

HANDLERS: dict[str, Handler] = {}
