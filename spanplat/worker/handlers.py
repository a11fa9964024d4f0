"""What the worker can do: a handler for each kind of job."""

from spanplat.services.agreement import AgreementOptions, compute_agreement
from spanplat.services.parallel import heavy_work
from spanplat.services.runs import run_campaign
from spanplat.services.sides import Filters
from spanplat.settings import load_settings
from spanplat.worker.performing import Handler, Task


def handle_run_campaign(task: Task) -> None:
    """Run a model campaign; payload: ``campaign``, and ``limit`` where not everything is to be asked."""
    run_campaign(task.database, task.payload["campaign"], limit=task.payload.get("limit"), on_progress=task.report)


def handle_agreement(task: Task) -> None:
    """Compute and store the agreement of two campaigns; payload: ``reference``, ``hypothesis``, and changed ``options``."""
    options = dict(task.payload.get("options", {}))
    filters = {name: tuple(values) for name, values in options.pop("filters", {}).items()}
    with heavy_work(load_settings()):
        compute_agreement(
            task.database,
            task.payload["reference"],
            task.payload["hypothesis"],
            AgreementOptions(filters=Filters(**filters), **options),
        )


HANDLERS: dict[str, Handler] = {"run-campaign": handle_run_campaign, "agreement": handle_agreement}
