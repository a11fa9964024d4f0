"""The database: the engine and its transactions, the schema and its upgrades, and a cache for each database."""

from spanplat.db.engine import Database, WriteQueue

__all__ = ["Database", "WriteQueue"]
