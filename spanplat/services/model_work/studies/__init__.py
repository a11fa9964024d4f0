"""Prompt studies: variants of one model campaign, run under one ceiling of cost and compared with one gold campaign."""
