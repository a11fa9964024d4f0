"""Training data: a campaign's annotations as examples for supervised fine-tuning."""
