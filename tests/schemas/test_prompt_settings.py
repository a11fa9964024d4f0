"""Settings of prompts: the scale of the preset ``gauge``."""

import pytest

from spanplat.schemas.prompt_settings import GaugeSettings


@pytest.mark.parametrize("labels", [["Bad", "Good", "Good enough"], ["Bad", "Good enough", "Good"]])
@pytest.mark.parametrize(
    ("written", "label"),
    [
        ("Good enough", "Good enough"),
        ("**Good enough.**", "Good enough"),
        ("Good enough, since nothing is missing", "Good enough"),
        ("Good", "Good"),
        ("Good, since nothing is missing", "Good"),
        ("Good to good enough", None),
        ("Good enough or good", None),
    ],
)
def test_a_label_may_begin_with_another(labels: list[str], written: str, label: str | None) -> None:
    expected = None if label is None else labels.index(label) + 1
    assert GaugeSettings(labels=labels).score_of(written) == expected
