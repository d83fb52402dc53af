"""What a trial's error says of a verifier that did not end in its time."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path

import pytest
from harbor.environments.base import HealthcheckError
from harbor.models.trial.paths import TrialPaths

from corral import Client, Rollout
from corral.harbor import reward_settling
from corral.harbor.reward_settling import RewardSettler
from corral.harbor.verifying import Verifying
from corral.settling import Played
from corral.standing import TaskKey


@pytest.mark.parametrize(
    ("played", "usual"),
    [
        (Played("unproven"), "how long it takes with the task's own solution is not known"),
        (Played("proven", solution_verifier_took_s=4), "with the task's own solution it took 4 s"),
    ],
)
async def test_a_verifier_out_of_time_is_explained_by_what_the_solution_took(
    played: Played, usual: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    async def settled() -> Played:
        return played

    def begin(_key: TaskKey, _play: Callable[[], object]) -> asyncio.Task[Played]:
        return asyncio.create_task(settled())

    monkeypatch.setattr(reward_settling, "begin_settling", begin)
    client = Client("http://127.0.0.1:1", "key", "run")
    settler = RewardSettler(
        Rollout("harbor", client=client),
        TaskKey(client, "harbor", "0" * 64),
        settled,
        Verifying([5.0], TrialPaths(tmp_path)),
        0.0,
        logging.getLogger("test"),
    )
    with pytest.raises(HealthcheckError) as caught:
        await settler.settle_timeout()
    assert str(caught.value).startswith(f"the verifier did not end within its 5 s, and {usual}")
    assert str(caught.value).endswith("so this trial has no reward")
