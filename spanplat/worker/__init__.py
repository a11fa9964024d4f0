"""Background worker. It takes jobs from the queue and performs them."""
