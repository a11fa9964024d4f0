"""Generations: the outputs of a new system, written by a model from the sources of a dataset."""
