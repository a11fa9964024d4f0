"""spanplat: humans and language models annotate spans of text under one protocol."""

from importlib.metadata import version

__version__ = version("spanplat")
