"""Four trials of a task of Harbor in sandboxes of Corral, and the rewards that are any: `python harbor_rewards.py TASK AGENT`."""

from __future__ import annotations

import asyncio
import sys
from statistics import mean

from harbor.job import Job
from harbor.models.job.config import JobConfig
from harbor.models.trial.result import TrialResult

from corral.harbor import reward_of

ENVIRONMENT = {"import_path": "corral.harbor:CorralEnvironment", "kwargs": {"environment": "harbor"}}


async def rewards_of(task: str, agent: str) -> list[float | None]:
    config = {"tasks": [{"path": task}], "agents": [{"name": agent}], "environment": ENVIRONMENT}
    job = await Job.create(JobConfig.model_validate({**config, "n_attempts": 4, "quiet": True}))
    await job.run()
    results = [path.read_text() for path in job.job_dir.glob("*/result.json")]
    return [await reward_of(TrialResult.model_validate_json(result)) for result in results]


if __name__ == "__main__":
    rewards = asyncio.run(rewards_of(*sys.argv[1:3]))
    kept = [reward for reward in rewards if reward is not None]
    average = f", mean {mean(kept)}" if kept else ""
    print(f"rewards {kept}, without a reward {len(rewards) - len(kept)}{average}")
