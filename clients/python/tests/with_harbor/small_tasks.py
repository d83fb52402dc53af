"""Tasks of a few lines, jobs that play them, and what the fleet has of their controls."""

from __future__ import annotations

import itertools
import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fleet import Fleet
from harbor.job import Job
from harbor.models.job.config import JobConfig
from harbor.models.trial.result import TrialResult
from harbor.trial.hooks import TrialEvent, TrialHookEvent
from scripted_agent import ScriptedAgent

SOLUTION = "echo x >> calls\n"
# 1 for a line in `calls`, else 0; nothing at all for a policy that stops it.
TEST = """[ -e stop ] && exit 1
if [ -s calls ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
"""
REWARD = "/logs/verifier/reward.txt"


def write_task(
    root: Path,
    name: str,
    image: str | None,
    *,
    environment: str = "",
    sections: str = "",
    test: str = TEST,
    solution: str | None = SOLUTION,
) -> Path:
    folder = root / name
    (folder / "environment").mkdir(parents=True)
    _script(folder / "tests/test.sh", test)
    if solution is not None:
        _script(folder / "solution/solve.sh", solution)
    (folder / "instruction.md").write_text("Append lines to calls.\n")
    named = "" if image is None else f'docker_image = "{image}"\n'
    # No other test's task has the same digest, so the fleet knows nothing of it.
    head = f'# {uuid.uuid4()}\nversion = "1.0"\n'
    (folder / "task.toml").write_text(f"{head}{sections}\n[environment]\n{named}{environment}")
    return folder


def write_step(folder: Path, name: str, test: str, solution: str) -> None:
    step = folder / "steps" / name
    _script(step / "tests/test.sh", test)
    _script(step / "solution/solve.sh", solution)
    (step / "instruction.md").write_text("Append lines to calls.\n")


def _script(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}")


@dataclass(frozen=True)
class PlayedJob:
    trials: list[TrialResult]
    """In the order in which they ended."""
    starts: Counter[str]
    """How often each task was started, retries too."""

    def of(self, task: str) -> list[TrialResult]:
        return [trial for trial in self.trials if trial.task_name == task]


async def play_job(
    tasks: Sequence[Path],
    *,
    commands: Sequence[str] | None = None,
    at_once: int = 4,
    retries: int = 3,
    import_path: str = "corral.harbor:CorralEnvironment",
    **options: Any,
) -> PlayedJob:
    """With the tasks' own solutions, or with a trial of each command."""
    ScriptedAgent.commands, ScriptedAgent.numbers = commands or (), itertools.count()
    ScriptedAgent.timeout_sec, ScriptedAgent.seen, ScriptedAgent.last = None, [], []
    ScriptedAgent.begins = None
    agent = {"name": "oracle"} if commands is None else {"import_path": "scripted_agent:ScriptedAgent"}
    config = {
        "jobs_dir": tasks[0].parent / "jobs",
        "n_attempts": len(commands or [""]),
        "n_concurrent_trials": at_once,
        "quiet": True,
        "retry": {"max_retries": retries, "min_wait_sec": 0},
        "tasks": [{"path": task} for task in tasks],
        "agents": [agent],
        "environment": {"import_path": import_path, "kwargs": {"environment": "harbor", **options}},
    }
    job = await Job.create(JobConfig.model_validate(config))
    starts: Counter[str] = Counter()

    async def count(event: TrialHookEvent) -> None:
        starts[event.task_name] += 1

    job.add_hook(TrialEvent.START, count)
    await job.run()
    results = [path.read_text() for path in job.job_dir.glob("*/result.json")]
    trials = [TrialResult.model_validate_json(text) for text in results]
    return PlayedJob(sorted(trials, key=lambda trial: str(trial.finished_at)), starts)


def error_of(trial: TrialResult) -> str | None:
    """The name that Harbor goes by."""
    error = trial.exception_info
    return error.exception_type if error else None


def messages(trials: Sequence[TrialResult]) -> list[str]:
    return [trial.exception_info.exception_message if trial.exception_info else "" for trial in trials]


def controls(fleet: Fleet, run: str) -> list[Any]:
    """The rollouts of controls, as the fleet lists them."""
    rollouts = fleet.get(f"/v1/runs/{run}/rollouts")["rollouts"]
    return [rollout for rollout in rollouts if rollout["labels"] == ["control"]]
