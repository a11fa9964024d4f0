"""Pages of models: runs, prompts, generations and prompt studies."""

from spanplat.web.model_work import generations, prompts, runs, studies

PAGES = (runs, prompts, studies, generations)
"""The modules with routes."""
COMPUTED_PARTS = (studies.PART,)
"""Parts of pages with figures that may take long, so that a worker computes them."""
