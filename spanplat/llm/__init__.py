"""Language models as annotators: providers, prompts, and parsing of replies."""
