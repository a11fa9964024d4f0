"""The parts of a model campaign's run: which items are asked about, asking, and storing what comes back."""
