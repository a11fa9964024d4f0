"""Crowdsourcing platforms: how people arrive from each and where they go when done."""
