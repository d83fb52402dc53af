"""A sandbox that dies before the agent acts costs no trial: what the adapter did in it is done again in the next one."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from fleet import Fleet, eventually
from small_tasks import error_of, play_job, write_task

from corral.harbor import reward_of

HEALTHCHECK = """
[environment.healthcheck]
command = "test -e healthy || { touch healthy; exit 1; }"
interval_sec = 8.0
retries = 3
"""

pytestmark = pytest.mark.usefixtures("address")


async def test_killed_between_two_health_checks_a_trial_goes_on_in_the_next_sandbox(
    fleet: Fleet, run: str, tmp_path: Path, image: str
):
    task = write_task(
        tmp_path, "prepared", image, environment=HEALTHCHECK, solution="cat data healthy > calls\n"
    )
    (task / "environment/data").write_text("x\n")
    playing = asyncio.create_task(play_job([task], retries=0))

    def checked() -> str | None:
        for each in fleet.get(f"/v1/runs/{run}/rollouts")["rollouts"]:
            told = fleet.rollout(each["rollout_id"], run)
            if any(call.get("exit_code") == 1 for call in told["calls"]):
                return each["rollout_id"]
        return None

    rollout = await asyncio.to_thread(eventually, checked, "its first health check failed")
    await asyncio.to_thread(fleet.kill_sandbox_of, rollout)
    job = await playing
    [trial] = job.trials
    assert (error_of(trial), await reward_of(trial), job.starts) == (None, 1, {"prepared": 1})
    assert (fleet.rollout(rollout, run)["heals"], fleet.report(run)["discarded"]) == (1, 0)
