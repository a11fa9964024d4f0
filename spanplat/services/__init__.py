"""Use cases: each takes a session and validated shapes, decides, flushes and never commits."""
