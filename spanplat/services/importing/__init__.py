"""Importing datasets and campaigns from files, in many short transactions, so that nothing else has to wait."""
