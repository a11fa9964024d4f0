"""Models that annotate: prompts, runs, stored replies, generations, ensembles, studies and training data."""

from spanplat.services.model_work.budget import generation_spending
from spanplat.services.model_work.generations.defining import generation_definition, list_generations
from spanplat.services.model_work.generations.running import generation_stops_at_ceiling
from spanplat.services.model_work.running import RunReport, run_campaign, stops_at_ceiling
from spanplat.services.model_work.studies.defining import list_studies, study_definition
from spanplat.services.model_work.studies.running import study_stops_at_ceiling

__all__ = [
    "RunReport",
    "generation_definition",
    "generation_spending",
    "generation_stops_at_ceiling",
    "list_generations",
    "list_studies",
    "run_campaign",
    "stops_at_ceiling",
    "study_definition",
    "study_stops_at_ceiling",
]
