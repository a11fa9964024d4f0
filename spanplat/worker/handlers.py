"""What the worker can do: a handler for each kind of job."""

from spanplat.errors import Unavailable
from spanplat.services.computations import JOB_KIND, work_on
from spanplat.services.generations.running import run_generation
from spanplat.services.parallel import heavy_work
from spanplat.services.runs import cancel_batches, run_campaign
from spanplat.services.studies.running import run_study
from spanplat.services.uploads import import_upload
from spanplat.settings import load_settings
from spanplat.worker.performing import Handler, Task, WorkWaits


def handle_run_campaign(task: Task) -> None:
    """Run a model campaign; payload: ``campaign``, and ``limit`` where not everything is to be asked."""
    slug, limit = task.payload["campaign"], task.payload.get("limit")
    report = run_campaign(task.database, slug, limit=limit, on_progress=task.report, wait=False)
    if report.stopped == "waiting":
        raise WorkWaits


def handle_run_study(task: Task) -> None:
    """Run the variants of a prompt study; payload: ``study``."""
    report = run_study(task.database, task.payload["study"], on_progress=task.report, wait=False)
    if report.problems:
        raise Unavailable("; ".join(f"{name}: {problem}" for name, problem in report.problems.items()))
    if any(run.stopped == "waiting" for run in report.runs.values()):
        raise WorkWaits


def handle_run_generation(task: Task) -> None:
    """Have a model write the outputs of a generation; payload: ``generation``."""
    run_generation(task.database, task.payload["generation"], on_progress=task.report)


def handle_cancel_batches(task: Task) -> None:
    """Have the provider stop the batches of a cancelled run, and store what they had done; payload: ``campaign``, ``batches``."""
    if cancel_batches(task.database, task.payload["campaign"], task.payload["batches"]):
        raise WorkWaits


def handle_result(task: Task) -> None:
    """Compute and store a result stage by stage; payload: ``kind``, ``campaigns`` and ``options``."""
    with heavy_work(load_settings()):
        work_on(task.database, task.payload, task.report)


def handle_import_dataset(task: Task) -> None:
    """Import an uploaded file; payload: ``upload`` (its token), ``dataset`` (a name or null), ``columns`` by role, and ``actor``."""
    payload = task.payload
    database = task.database.acting_as(payload.get("actor", task.database.actor))
    home = load_settings().home
    dataset, columns = payload["dataset"], payload["columns"]
    import_upload(database, home, payload["upload"], dataset, columns, on_progress=task.report)


HANDLERS: dict[str, Handler] = {
    "run-campaign": handle_run_campaign,
    "run-study": handle_run_study,
    "run-generation": handle_run_generation,
    "cancel-batches": handle_cancel_batches,
    JOB_KIND: handle_result,
    "import-dataset": handle_import_dataset,
}
