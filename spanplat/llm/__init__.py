"""Language models as annotators: providers, prompts, and reading what comes back."""
