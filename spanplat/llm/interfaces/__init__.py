"""The wire formats of providers, as pure functions: the body of a request, and what a response says."""
