"""The providers: two SDKs, an offline baseline, and one that answers from a script."""
