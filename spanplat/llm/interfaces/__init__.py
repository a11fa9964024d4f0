"""Wire formats of providers, as pure functions: make the body of a request, and read a response."""
