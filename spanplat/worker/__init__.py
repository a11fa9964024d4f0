"""The background worker: takes jobs from the queue and performs them."""
