"""A local stand-in for model providers: it speaks both wire protocols over real HTTP and does what a script says."""
