"""Shapes of what crosses a boundary: campaign definitions, submissions, records (pydantic)."""
