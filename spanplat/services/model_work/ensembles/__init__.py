"""Several campaigns on the same items as one: scores averaged, votes counted, errors merged."""
