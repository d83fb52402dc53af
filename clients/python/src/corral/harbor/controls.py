"""Plays a task's controls through Harbor itself: the agents `nop` and `oracle`, with the same verifier, environment and limits.

A control whose sandbox was lost, or that ran out of time, says nothing about the task and is played again. One that fails is
played a second time, so that no single accident refuses a task.
"""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from harbor.models.agent.name import AgentName
from harbor.models.task.config import TaskConfig
from harbor.models.trial.config import AgentConfig, TrialConfig
from harbor.models.trial.config import TaskConfig as TaskSource
from harbor.models.trial.result import TimingInfo, TrialResult
from harbor.trial.trial import Trial

from ..settling import Played
from .control_outputs import ControlOutputs, read_outputs
from .failing import CANCELLED, REFUSED, SANDBOX_FAILED, VERIFIER_FAILED, exceptions_of, find_refusal_in
from .rewards import is_full
from .task_files import has_solution, read_config

Kind = Literal["nop", "solution"]

FAILURES_TO_REFUSE: Final = 2
LOSSES_TO_GIVE_UP: Final = 3
# Of an exception's message, in characters.
LONGEST_MESSAGE: Final = 200

# A control that ended so says nothing about its task.
NOTHING_SHOWN: Final = SANDBOX_FAILED | {CANCELLED, "AgentTimeoutError", "VerifierTimeoutError"}

is_control: Final[ContextVar[bool]] = ContextVar("is_control", default=False)
"""Set while a control is played: its own missing or zero reward asks for no controls."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What one control showed. `lost`: nothing. `refused`: its sandbox does not meet the task's requirements."""

    state: Literal["passed", "failed", "lost", "refused"]
    reason: str = ""
    verifier_took_s: float | None = None


@dataclass(frozen=True)
class ControlledTask:
    """A task, and the trial whose verifier and limits its controls share."""

    folder: Path
    trial: TrialConfig
    config: TaskConfig

    @classmethod
    def at(cls, folder: Path, trial: TrialConfig) -> ControlledTask:
        return cls(folder, trial, read_config(folder))


async def play_controls(task: ControlledTask) -> Played:
    nop = await _play_until_sure(task, "nop")
    if nop.state != "passed":
        return _ended(nop)
    if not has_solution(task.config, task.folder):
        return Played("unproven", "the task has no solution")
    solution = await _play_until_sure(task, "solution")
    if solution.state != "passed":
        return _ended(solution)
    return Played("proven", solution_verifier_took_s=solution.verifier_took_s)


def _ended(evidence: Evidence) -> Played:
    if evidence.state == "refused":
        requirement, _, reason = evidence.reason.partition(": ")
        return Played("refused", reason, requirement=requirement)
    return Played("inconclusive" if evidence.state == "lost" else "refused", evidence.reason)


async def _play_until_sure(task: ControlledTask, kind: Kind) -> Evidence:
    failed = lost = 0
    while True:
        evidence = await _play_once(task, kind)
        failed += evidence.state == "failed"
        lost += evidence.state == "lost"
        if (
            evidence.state in ("passed", "refused")
            or failed == FAILURES_TO_REFUSE
            or lost == LOSSES_TO_GIVE_UP
        ):
            return evidence


async def _play_once(task: ControlledTask, kind: Kind) -> Evidence:
    token = is_control.set(True)
    try:
        with tempfile.TemporaryDirectory(prefix="corral-control-") as folder:
            trial = await Trial.create(control_config(task, kind, Path(folder)))
            return judge(await trial.run(), kind, task.config, read_outputs(trial.paths.trial_dir))
    finally:
        is_control.reset(token)


def control_config(task: ControlledTask, kind: Kind, folder: Path) -> TrialConfig:
    """The trial's own configuration with another agent. The task is the folder that is here already."""
    agent = AgentConfig(
        name=(AgentName.NOP if kind == "nop" else AgentName.ORACLE).value,
        override_timeout_sec=task.trial.agent.override_timeout_sec,
        max_timeout_sec=task.trial.agent.max_timeout_sec,
    )
    name = f"control-{kind}-{uuid.uuid4().hex[:8]}"
    changed = {
        "agent": agent,
        "user_agent": None,
        "task": TaskSource(path=task.folder),
        "trial_name": name,
        "trials_dir": folder,
    }
    return task.trial.model_copy(update=changed)


def judge(trial: TrialResult, kind: Kind, config: TaskConfig, outputs: ControlOutputs) -> Evidence:
    if (refusal := find_refusal_in(trial)) is not None:
        return Evidence("refused", refusal.removeprefix(REFUSED))
    took_s = _longest_s([trial.verifier, *(step.verifier for step in trial.step_results or [])])
    rewards = _rewards_of(trial, kind, config)
    if rewards is not None and (kind == "nop" or is_full(rewards, config.metadata.get("max_reward"))):
        return Evidence("passed", verifier_took_s=took_s)
    if _shows_nothing(trial):
        return Evidence("lost", f"{_name(kind)}: {exceptions_of(trial)[0].exception_message}")
    left = _describe_missing(outputs) if rewards is None else f"left {rewards} instead of the full reward"
    # That a reward is missing is said already.
    others = [each for each in exceptions_of(trial) if each.exception_type not in VERIFIER_FAILED]
    said = "".join(f" {each.exception_type}: {each.exception_message[:LONGEST_MESSAGE]}." for each in others)
    return Evidence("failed", f"{_name(kind)} {left}.{said} {outputs.describe()}")


def _describe_missing(outputs: ControlOutputs) -> str:
    if outputs.unreadable is None:
        return "left no reward"
    return f"left a reward that cannot be read: {outputs.unreadable}"


def _rewards_of(trial: TrialResult, kind: Kind, config: TaskConfig) -> dict[str, Any] | None:
    """None where a verification left none. A threshold may keep nop from a task's later steps."""
    steps = trial.step_results
    if steps is not None:
        wanted = 1 if kind == "nop" else len(config.steps or [])
        if len(steps) < wanted or any(step.verifier_result is None for step in steps):
            return None
    return None if trial.verifier_result is None else trial.verifier_result.rewards or None


def _shows_nothing(trial: TrialResult) -> bool:
    return any(each.exception_type in NOTHING_SHOWN for each in exceptions_of(trial))


def _longest_s(timings: Sequence[TimingInfo | None]) -> float | None:
    took = [
        (each.finished_at - each.started_at).total_seconds()
        for each in timings
        if each is not None and each.started_at is not None and each.finished_at is not None
    ]
    return max(took, default=None)


def _name(kind: Kind) -> str:
    return "the nop control" if kind == "nop" else "the task's own solution"
