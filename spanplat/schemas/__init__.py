"""Pydantic models of data at a boundary: campaign definitions, submissions, model replies, records."""
