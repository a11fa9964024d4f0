"""Handlers of the worker, one for each kind of job."""

from spanplat.errors import Unavailable
from spanplat.services.agreement.result_kinds import RESULT_KINDS
from spanplat.services.background.computations import JOB_KIND, work_on
from spanplat.services.background.parallel import heavy_work
from spanplat.services.datasets.uploads import import_upload
from spanplat.services.model_work.generations.running import run_generation
from spanplat.services.model_work.running import cancel_batches, run_campaign
from spanplat.services.model_work.studies.running import run_study
from spanplat.settings import load_settings
from spanplat.worker.performing import Handler, Task, WorkWaits


def handle_run_campaign(task: Task) -> None:
    """Run a model campaign. Payload: ``campaign``, and ``limit`` if only some items are to be asked."""
    # `wait=False`: a provider's batch may take a day, and a waiting run would block a thread of the worker.
    slug, limit = task.payload["campaign"], task.payload.get("limit")
    report = run_campaign(task.database, slug, limit=limit, on_progress=task.report, wait=False)
    if report.stopped == "waiting":
        raise WorkWaits


def handle_run_study(task: Task) -> None:
    """Run the variants of a prompt study. Payload: ``study``."""
    report = run_study(task.database, task.payload["study"], on_progress=task.report, wait=False)
    if report.problems:
        raise Unavailable("; ".join(f"{name}: {problem}" for name, problem in report.problems.items()))
    if any(run.stopped == "waiting" for run in report.runs.values()):
        raise WorkWaits


def handle_run_generation(task: Task) -> None:
    """Generate outputs with a model. Payload: ``generation``."""
    run_generation(task.database, task.payload["generation"], on_progress=task.report)


def handle_cancel_batches(task: Task) -> None:
    """Cancel the batches of a cancelled run, and store their results so far. Payload: ``campaign``, ``batches``."""
    if cancel_batches(task.database, task.payload["campaign"], task.payload["batches"]):
        raise WorkWaits


def handle_result(task: Task) -> None:
    """Compute and store a result stage by stage. Payload: ``kind``, ``campaigns`` and ``options``."""
    with heavy_work(load_settings()):
        work_on(task.database, RESULT_KINDS, task.payload, task.report)


def handle_import_dataset(task: Task) -> None:
    """Import an uploaded file. Payload: ``upload`` (its token), ``dataset`` (a name or null), ``columns`` by role, and ``actor``."""
    payload = task.payload
    # The audit log names the user who asked for the import, not the worker.
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
