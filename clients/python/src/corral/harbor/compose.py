"""What a task's docker-compose.yaml demands. `read-compose.ts` of preflight decides the same."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

import yaml
from harbor.constants import MAIN_SERVICE_NAME

FILE: Final = "docker-compose.yaml"
# They say where the image comes from, what the machine shows of the container, and how the engine treats it.
UNSEEN: Final = frozenset(
    [
        "build",
        "image",
        "pull_policy",
        "container_name",
        "labels",
        "ports",
        "expose",
        "stdin_open",
        "tty",
        "init",
        "restart",
        "logging",
        "platform",
        "stop_grace_period",
        "stop_signal",
        "depends_on",
    ]
)
# Commands that only keep a container alive, as Harbor's own does.
IDLE: Final = frozenset({"sleep infinity", "tail -f /dev/null"})
# Filled in by Harbor itself: its folders for logs, and the amounts and the network of task.toml.
HARBORS: Final = re.compile(
    r"(?:\w{1,64}=)?\$\{(?:HOST_\w{1,64}_PATH|ENV_\w{1,64}_PATH|CPUS|MEMORY|NETWORK_MODE|TEST_DIR)[:}]"
)


@dataclass(frozen=True, slots=True)
class ComposeDemands:
    """`settings`: names of the settings of the task's one container that Corral does not apply and that a task can see."""

    services: frozenset[str] = frozenset()
    settings: tuple[str, ...] = ()


def read_compose(folder: Path) -> ComposeDemands:
    """A file that names no services, or is not YAML, is not one that Harbor could start."""
    path = folder / "environment" / FILE
    if not path.is_file():
        return ComposeDemands()
    try:
        read = yaml.safe_load(path.read_text())
    except (yaml.YAMLError, UnicodeDecodeError):
        return ComposeDemands()
    compose = cast("dict[str, Any]", read) if isinstance(read, dict) else {}
    services = compose.get("services")
    if not isinstance(services, dict):
        return ComposeDemands()
    named = cast("dict[Any, Any]", services)
    own = named.get(MAIN_SERVICE_NAME)
    settings = cast("dict[str, Any]", own) if isinstance(own, dict) else {}
    seen = [name for name, value in settings.items() if _matters(name, value)]
    return ComposeDemands(frozenset(map(str, named)), (*seen, *(["include"] if "include" in compose else [])))


def _matters(name: str, value: object) -> bool:
    if name in UNSEEN:
        return False
    if name == "command":
        return _command(value) not in IDLE
    return not all(HARBORS.match(leaf) for leaf in _leaves(value))


def _command(value: object) -> str:
    text = " ".join(map(str, cast("list[Any]", value))) if isinstance(value, list) else str(value)
    return re.sub(r"^(?:sh|bash) -c ", "", text).replace('"', "").replace("'", "")


def _leaves(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        value = list(cast("dict[Any, Any]", value).values())
    if not isinstance(value, list):
        yield str(value)
        return
    for each in cast("list[Any]", value):
        yield from _leaves(each)
