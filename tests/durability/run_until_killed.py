"""Run the model campaign ``study``, or the generation ``drafts``, until somebody kills the process.

Arguments: database URL, how many questions at a time, and which of the two.

It says ``ready`` when all that takes long to load is loaded.
"""

import sys

import openai.resources.chat  # noqa: F401 (otherwise loaded by the first call)

from spanplat.db import Database
from spanplat.services.model_work.generations.running import run_generation
from spanplat.services.model_work.running import run_campaign

if __name__ == "__main__":
    print("ready", flush=True)
    url, concurrency, what = sys.argv[1:]
    if what == "drafts":
        run_generation(Database(url), what, concurrency=int(concurrency))
    else:
        run_campaign(Database(url), what, concurrency=int(concurrency))
