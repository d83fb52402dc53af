"""Plays the controls of tasks before a job does: `python -m corral.harbor check TASK... --environment NAME`."""

from __future__ import annotations

import argparse
import asyncio
import logging
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from harbor.models.agent.name import AgentName
from harbor.models.trial.config import AgentConfig, EnvironmentConfig, TrialConfig
from harbor.models.trial.config import TaskConfig as TaskSource

from ..client import Client
from ..errors import CorralError
from ..settling import Played, settle_standing
from ..standing import TaskKey
from .controls import ControlledTask, play_controls
from .demands import AskedTask, find_demands
from .task_files import digest_task, read_config

IMPORT_PATH: Final = "corral.harbor:CorralEnvironment"
HEAD: Final = ("task", "standing", "requirement", "reason")
LONGEST_REASON: Final = 2000


@dataclass(frozen=True, slots=True)
class Row:
    task: str
    standing: str
    requirement: str = ""
    reason: str = ""


def main(words: Sequence[str]) -> int:
    """0 where every task is proven or unproven, else 1."""
    parser = _parser()
    chosen = parser.parse_args(words)
    for folder in chosen.tasks:
        try:
            read_config(folder)
        except (OSError, ValueError) as error:
            parser.error(f"{folder} is not a task of Harbor: {error}")
    # Harbor's own log is of each control's trial; the table says what came of it.
    logging.getLogger("harbor").setLevel(logging.CRITICAL)
    folders = [folder.resolve() for folder in chosen.tasks]
    rows = asyncio.run(check_tasks(folders, chosen.environment, at_once=chosen.at_once, again=chosen.again))
    print(format_table(rows))
    return 0 if all(row.standing in ("proven", "unproven") for row in rows) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m corral.harbor",
        description="Checks tasks of Harbor against an environment of the fleet. The address and key come from CORRAL_URL "
        "and CORRAL_KEY.",
    )
    check = parser.add_subparsers(required=True).add_parser(
        "check", help="compare the demands of tasks and play their controls: nop and the own solution"
    )
    check.add_argument("tasks", nargs="+", type=Path, metavar="TASK", help="a folder with a task.toml")
    check.add_argument("--environment", required=True, metavar="NAME", help="the fleet's environment")
    check.add_argument(
        "--at-once", type=int, default=4, metavar="N", help="tasks at the same time (default: 4)"
    )
    check.add_argument("--again", action="store_true", help="forget what the fleet has recorded of the tasks")
    return parser


async def check_tasks(
    folders: Sequence[Path], environment: str, *, at_once: int = 4, again: bool = False
) -> list[Row]:
    places = asyncio.Semaphore(at_once)

    async def check(folder: Path) -> Row:
        async with places:
            return await check_task(folder, environment, again=again)

    return list(await asyncio.gather(*map(check, folders)))


async def check_task(folder: Path, environment: str, *, again: bool = False) -> Row:
    with tempfile.TemporaryDirectory() as trials:
        task = ControlledTask.at(folder, _trial(folder, environment, Path(trials)))
        asked = AskedTask(task.config, task.config.environment, task.trial, folder)
        if (refusal := find_demands(asked).refusal) is not None:
            return Row(folder.name, "refused", refusal.requirement, refusal.message)
        key = TaskKey(Client(), environment, digest_task(folder, task.trial))
        try:
            played = await settle_standing(key, partial(play_controls, task), again=again)
        except CorralError as error:
            raise SystemExit(f"corral: {error}") from error
    return _row_of(folder.name, played)


def _row_of(task: str, played: Played) -> Row:
    """A refusal names its requirement and the line to change; the ends of outputs say why a control failed."""
    requirement = played.requirement if played.outcome == "refused" else ""
    return Row(task, played.outcome, requirement, played.reason)


def _trial(folder: Path, environment: str, trials: Path) -> TrialConfig:
    return TrialConfig(
        task=TaskSource(path=folder),
        trials_dir=trials,
        agent=AgentConfig(name=AgentName.NOP.value),
        environment=EnvironmentConfig(import_path=IMPORT_PATH, kwargs={"environment": environment}),
    )


def format_table(rows: Sequence[Row]) -> str:
    cells = [HEAD, *((row.task, row.standing, row.requirement, _line(row.reason)) for row in rows)]
    widths = [max(len(cell[column]) for cell in cells) for column in range(3)]
    return "\n".join(
        "  ".join([*(cell[at].ljust(widths[at]) for at in range(3)), cell[3]]).rstrip() for cell in cells
    )


def _line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_REASON else f"… {line[-LONGEST_REASON:]}"
