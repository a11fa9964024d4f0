"""A server killed at any moment loses nothing it acknowledged and doubles nothing."""

import pytest

from tests.asynchronous import apart
from tests.simulation.server_kill import Trial


@pytest.mark.parametrize("seed", [1, 2])
def test_after_a_kill_every_acknowledged_save_is_there_once_and_the_same_seat_is_found(
    database_url: str, seed: int
) -> None:
    trial = Trial(database_url, kills=2, seed=seed)
    apart(trial.run)
    assert trial.losses == []
    assert trial.measurements.errors == []
    assert trial.acknowledged > 0
    assert trial.submitted > 0
