"""``python -m spanplat`` does what ``spanplat`` does."""

from spanplat.cli import main

main(prog_name="spanplat")
