"""What a task of Harbor demands of its sandbox: told to the fleet, or refused here where no sandbox has it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from harbor.constants import MAIN_SERVICE_NAME
from harbor.models.task.artifacts import sidecar_services
from harbor.models.task.config import EnvironmentConfig, NetworkMode, NetworkPolicy, TaskConfig, TaskOS
from harbor.models.task.verifier_mode import task_has_any_separate_verifier
from harbor.models.trial.config import TrialConfig
from harbor.models.trial.paths import EnvironmentPaths

from ..errors import RequirementsUnmet
from ..refusals import unmet
from .compose import read_compose
from .task_files import longest_command_s

MIB: Final = 1024 * 1024
# Where Harbor writes: the environment brings them as `sandbox.folders`, or the image has them.
FOLDERS: Final = [
    str(each)
    for each in (EnvironmentPaths.logs_dir, EnvironmentPaths.tests_dir, EnvironmentPaths.solution_dir)
]
# Commands run as the sandbox's one user, and that is what Harbor means by its own `root`.
ANY_USER: Final = (None, "root", 0, "0")


@dataclass(frozen=True)
class Demands:
    """`requires`: for the fleet. `refusal`: why no sandbox will do. `user`: whom the task wants its commands to run as.
    `differences`: what is not as in a container, and need not matter."""

    requires: dict[str, Any]
    refusal: RequirementsUnmet | None = None
    user: str | None = None
    differences: tuple[str, ...] = ()


@dataclass(frozen=True)
class AskedTask:
    """A task and the job's own wishes. `environment`: with the job's overrides; `policies`: what Harbor made of both."""

    config: TaskConfig
    environment: EnvironmentConfig
    trial: TrialConfig
    folder: Path
    policies: tuple[NetworkPolicy, ...] = ()
    has_extra_compose: bool = False


def find_demands(task: AskedTask) -> Demands:
    users = sorted({str(user) for user in _users_of(task.config) if user not in ANY_USER})
    refusal = (
        _platform(task.environment)
        or _image(task.environment)
        or _separate_verifier(task.config)
        or _compose(task)
        or _accelerators(task.environment)
        or _network(task)
        or _users(users)
    )
    user = users[0] if users else None
    return Demands(_requires(task, user), refusal, user, tuple(_differences(task)))


def _requires(task: AskedTask, user: str | None) -> dict[str, Any]:
    given, seconds = task.environment, longest_command_s(task.config, task.trial)
    wanted = {
        "workdir": given.workdir,
        "folders": FOLDERS,
        "user": user,
        "memory_bytes": None if given.memory_mb is None else given.memory_mb * MIB,
        "cpu_milli": None if given.cpus is None else round(given.cpus * 1000),
        "disk_bytes": None if given.storage_mb is None else given.storage_mb * MIB,
        "network": _wanted_network(task.config),
        "services": _services(task) if _services(task) > 1 else None,
        "command_timeout_s": seconds,
    }
    return {name: each for name, each in wanted.items() if each is not None}


def _platform(environment: EnvironmentConfig) -> RequirementsUnmet | None:
    if environment.os != TaskOS.WINDOWS:
        return None
    return unmet(
        "platform",
        wanted="the task wants Windows",
        given="sandboxes run Linux",
        fix="leave the task out of this job",
    )


def _image(environment: EnvironmentConfig) -> RequirementsUnmet | None:
    if environment.docker_image:
        return None
    return unmet(
        "image",
        wanted="the task wants an image built from environment/Dockerfile",
        given="Corral builds no images",
        fix="build it, then name it as docker_image below [environment] in task.toml",
    )


def _separate_verifier(config: TaskConfig) -> RequirementsUnmet | None:
    if not task_has_any_separate_verifier(config):
        return None
    return unmet(
        "services",
        wanted="the task wants an environment of its own for its verifier",
        given="a trial has one sandbox",
        fix='set environment_mode = "shared" below [verifier] in task.toml and remove [verifier.environment]',
    )


def _compose(task: AskedTask) -> RequirementsUnmet | None:
    """A sandbox is no compose project: what such a file sets would be missing, and the policy would be blamed."""
    if task.has_extra_compose:
        return unmet(
            "services",
            wanted="the job adds docker-compose files to the task",
            given="a sandbox is no compose project",
            fix="remove extra_docker_compose from the job",
        )
    settings = read_compose(task.folder).settings
    # The fleet refuses several services, whatever is set of one.
    if not settings or _services(task) > 1:
        return None
    return unmet(
        "services",
        wanted=f"the task sets {', '.join(settings)} of its container in docker-compose.yaml",
        given="a sandbox is not made from a compose file",
        fix="move environment to [environment.env] of task.toml and the others into the image, "
        "or remove what the task does not need",
    )


def _accelerators(environment: EnvironmentConfig) -> RequirementsUnmet | None:
    if not environment.gpus and environment.tpu is None:
        return None
    field = "gpus" if environment.gpus else "tpu"
    return unmet(
        "gpu",
        wanted=f"the task wants {field} = {environment.gpus or environment.tpu}",
        given="sandboxes have no accelerators",
        fix=f"remove {field} below [environment] in task.toml",
    )


def _network(task: AskedTask) -> RequirementsUnmet | None:
    hosts = sorted({host for policy in task.policies for host in policy.allowed_hosts})
    listed = any(policy.network_mode == NetworkMode.ALLOWLIST for policy in task.policies)
    modes = _explicit_modes(task.config)
    if not listed and NetworkMode.ALLOWLIST not in modes and len(modes) < 2:
        return None
    wanted = f"no hosts but {', '.join(hosts)}" if listed else "another network in some of its phases"
    return unmet(
        "network",
        wanted=f"the task wants {wanted}",
        given="a sandbox has one network, which the environment names",
        fix="set one network_mode, public or no-network, below [environment] in task.toml",
    )


def _users(users: list[str]) -> RequirementsUnmet | None:
    if len(users) < 2:
        return None
    return unmet(
        "user",
        wanted=f"the task wants the users {', '.join(users)}",
        given="commands run as the sandbox's one user",
        fix="set the same user below [agent] and [verifier] in task.toml",
    )


def _users_of(config: TaskConfig) -> list[str | int | None]:
    roles = [config.agent, config.verifier]
    for step in config.steps or []:
        roles += [step.agent, step.verifier]
    hooks = [hook for role in roles for hook in getattr(role, "collect", [])]
    return [each.user for each in [*roles, *hooks]]


def _explicit_modes(config: TaskConfig) -> set[NetworkMode]:
    """What the task's file itself says. Harbor's default, public, is no demand of the task."""
    phases = [config.agent, config.verifier]
    for step in config.steps or []:
        phases += [step.agent, step.verifier]
    said = {phase.network_mode for phase in phases if phase.network_mode is not None}
    own = config.environment
    return said | ({own.network_mode} if "network_mode" in own.model_fields_set else set())


def _wanted_network(config: TaskConfig) -> str | None:
    modes = _explicit_modes(config)
    if not modes:
        return None
    return "none" if modes == {NetworkMode.NO_NETWORK} else "public"


def _services(task: AskedTask) -> int:
    named = sidecar_services([*task.config.artifacts, *task.trial.artifacts])
    hooks = [*task.config.verifier.collect]
    for step in task.config.steps or []:
        named |= sidecar_services(step.artifacts)
        hooks += step.verifier.collect
    named |= {hook.service for hook in hooks}
    return len({MAIN_SERVICE_NAME, *named, *read_compose(task.folder).services})


def _differences(task: AskedTask) -> list[str]:
    if _wanted_network(task.config) is not None:
        return []
    return ["its task.toml names no network_mode, so the environment's network is used"]
