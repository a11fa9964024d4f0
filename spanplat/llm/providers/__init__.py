"""Providers: two SDKs, an offline baseline, and one that answers from a script."""
