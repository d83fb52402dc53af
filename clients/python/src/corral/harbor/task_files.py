"""A task of Harbor as files of this machine: what defines it, and how long it may take."""

from __future__ import annotations

import hashlib
import json
import stat
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from harbor.models.task.config import TaskConfig
from harbor.models.task.paths import TaskPaths
from harbor.models.trial.config import TrialConfig

# Everything that decides a reward. The instruction is for the model only.
PARTS: Final = ("environment", "solution", "steps", "task.toml", "tests")
LEFT_OUT: Final = frozenset({".DS_Store", ".git", "__pycache__"})
# Of a trial's verifier, what changes only how long it may take or which of its logs are kept.
NOT_THE_VERIFIER: Final = {
    "override_timeout_sec",
    "max_timeout_sec",
    "include_logs",
    "exclude_logs",
    "extra_allowed_hosts",
    "disable",
}


def read_config(task_dir: Path) -> TaskConfig:
    """The task's own file. Harbor has warned of its old fields already."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return TaskConfig.model_validate_toml((task_dir / "task.toml").read_text())


def digest_task(task_dir: Path, trial: TrialConfig) -> str:
    """The SHA-256 of everything that defines the task and its verifier: names, modes and bytes, in order.

    A verifier that the job replaced or gave variables is another verifier, with a digest of its own.
    """
    digest = hashlib.sha256()
    for path in sorted(_files_of(task_dir)):
        _add(digest, path.relative_to(task_dir).as_posix(), path)
    verifier = trial.verifier.model_dump(mode="json", exclude_defaults=True, exclude=NOT_THE_VERIFIER)
    env = trial.environment.model_dump(mode="json", include={"env"}, exclude_defaults=True)
    if verifier or env:
        digest.update(json.dumps([verifier, env], sort_keys=True).encode())
    return digest.hexdigest()


def _files_of(task_dir: Path) -> Iterator[Path]:
    for part in PARTS:
        for path in [task_dir / part, *(task_dir / part).rglob("*")]:
            relative = path.relative_to(task_dir)
            if not LEFT_OUT & set(relative.parts) and (path.is_symlink() or path.is_file()):
                yield path


def _add(digest: Any, name: str, path: Path) -> None:
    mode = path.lstat().st_mode
    content = path.readlink().as_posix().encode() if stat.S_ISLNK(mode) else path.read_bytes()
    head = json.dumps([name, stat.S_ISLNK(mode), stat.S_IMODE(mode) & 0o777, len(content)])
    digest.update(head.encode() + b"\n" + content)


def has_solution(config: TaskConfig, task_dir: Path) -> bool:
    """Whether Harbor's oracle finds a script to run, in every step where there are steps."""
    paths, os = TaskPaths(task_dir), config.environment.os
    shared = paths.discovered_solve_path_for(os) is not None
    if not config.steps:
        return shared

    def has_own(step: str) -> bool:
        return paths.discovered_step_solve_path_for(step, os) is not None

    return all(
        has_own(step.name) if paths.step_solution_dir(step.name).exists() else shared for step in config.steps
    )


def verifier_bounds_s(config: TaskConfig, trial: TrialConfig) -> list[float]:
    """How long each verification may take: of each step, or of the one that there is."""
    own = [step.verifier.timeout_sec for step in config.steps or []] or [config.verifier.timeout_sec]
    wanted = [trial.verifier.override_timeout_sec or each for each in own]
    return [
        _scaled(each, trial.verifier.max_timeout_sec, trial.verifier_timeout_multiplier, trial)
        for each in wanted
    ]


def longest_command_s(config: TaskConfig, trial: TrialConfig) -> float | None:
    """The longest that one command of the task may take: an agent or a solution, a verifier, a check of health. Only what the
    task or the job says itself counts; a default of Harbor's is no demand."""
    agents = [step.agent.timeout_sec or config.agent.timeout_sec for step in config.steps or []]
    wanted = [trial.agent.override_timeout_sec or each for each in agents or [config.agent.timeout_sec]]
    scaled = [
        _scaled(each, trial.agent.max_timeout_sec, trial.agent_timeout_multiplier, trial)
        for each in wanted
        if each is not None
    ]
    verifiers = verifier_bounds_s(config, trial) if _names_verifier_timeout(config, trial) else []
    return max([*scaled, *verifiers, *_checks_s(config)], default=None)


def _names_verifier_timeout(config: TaskConfig, trial: TrialConfig) -> bool:
    verifiers = [config.verifier, *(step.verifier for step in config.steps or [])]
    return trial.verifier.override_timeout_sec is not None or any(
        "timeout_sec" in each.model_fields_set for each in verifiers
    )


def _checks_s(config: TaskConfig) -> Iterable[float]:
    checks = [config.environment.healthcheck, *(step.healthcheck for step in config.steps or [])]
    hooks = [
        *config.verifier.collect,
        *(hook for step in config.steps or [] for hook in step.verifier.collect),
    ]
    return [each.timeout_sec for each in [*(check for check in checks if check is not None), *hooks]]


def _scaled(base_s: float, most_s: float | None, multiplier: float | None, trial: TrialConfig) -> float:
    """As `Trial._resolve_timeout_sec`."""
    return min(base_s, most_s or float("inf")) * (
        trial.timeout_multiplier if multiplier is None else multiplier
    )
