"""Server of campaigns with factgenie. It runs in an interpreter that has factgenie 1.2.1, and uses no code of spanplat.

The script copies the installed package to FOLDER, because factgenie stores its data in its package, and serves it as ``factgenie run``
does. It prints the address. ``python factgenie_peer.py FOLDER load OUTPUTS PER_BATCH`` first creates a dataset and a crowdsourcing
campaign. ``python factgenie_peer.py FOLDER study`` uses the folders ``data`` and ``campaigns`` in FOLDER/study, in factgenie's format.
"""

import importlib.util
import json
import shutil
import sys
from pathlib import Path
from typing import Any

CAMPAIGN = "load"
CATEGORIES = ("contradicted", "not-checkable", "misleading", "incoherent", "repetitive", "other")


def main() -> None:
    """Copy the package, add the data, and serve."""
    folder, kind = Path(sys.argv[1]), sys.argv[2]
    spec = importlib.util.find_spec("factgenie")
    if spec is None or spec.origin is None:
        sys.exit(f"{sys.executable} has no factgenie: pip install factgenie==1.2.1")
    package = folder / "factgenie"
    shutil.copytree(Path(spec.origin).parent, package)
    if kind == "study":
        shutil.copytree(folder / "study", package, dirs_exist_ok=True)
    else:
        _write_data(package / "data", int(sys.argv[3]))
    sys.path.insert(0, str(folder))

    from factgenie.bin.run import create_app  # noqa: PLC0415 - the copy
    from werkzeug.serving import make_server  # noqa: PLC0415

    app = create_app()
    if kind == "load":
        _add_campaign(app, int(sys.argv[4]))
    server = make_server("127.0.0.1", 0, app, threaded=True)
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


def _add_campaign(app: Any, per_batch: int) -> None:
    from factgenie.crowdsourcing import create_crowdsourcing_campaign, parse_crowdsourcing_config  # noqa: PLC0415

    config = parse_crowdsourcing_config(
        {
            "annotatorInstructions": "Mark what the source does not support.",
            "finalMessage": "Thank you.",
            "examplesPerBatch": per_batch,
            "annotatorsPerExample": 1,
            "annotationGranularity": "words",
            "service": "prolific",
            "sortOrder": "keep-all",
            "annotationSpanCategories": [{"name": name, "color": "#cccccc"} for name in CATEGORIES],
            "flags": [],
            "options": [],
            "sliders": [],
            "textFields": [],
        }
    )
    with app.app_context():
        selected = [{"dataset": "bench", "split": "test", "setup_id": "fir"}]
        create_crowdsourcing_campaign(app, CAMPAIGN, config, selected)


def _write_data(data: Path, outputs: int) -> None:
    texts = [f"Case {number}. " + "The phone has a display of 6.5 inches. " * 10 for number in range(outputs)]
    (data / "inputs" / "bench").mkdir(parents=True)
    (data / "outputs" / "bench").mkdir(parents=True)
    (data / "inputs" / "bench" / "test.txt").write_text("".join(f"Case {number}\n" for number in range(outputs)))
    (data / "datasets.yml").write_text(
        "bench:\n  class: basic.PlainTextDataset\n  description: ''\n  enabled: true\n  splits: [test]\n"
    )
    with (data / "outputs" / "bench" / "test-fir.jsonl").open("w") as file:
        for number, text in enumerate(texts):
            record = {"dataset": "bench", "split": "test", "setup_id": "fir", "example_idx": number, "output": text}
            file.write(json.dumps(record | {"metadata": {}}) + "\n")


if __name__ == "__main__":
    main()
