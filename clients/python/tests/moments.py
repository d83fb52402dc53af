"""When one of four rollouts loses its sandbox, and what its trainer may then read: one table for every framework.

The rollouts append lines to a file, and their reward is the number of its lines: 1, 3, 2 and, for the one whose sandbox is
killed, 4. So a false zero, a command that ran twice and a command that was lost with its sandbox each show as a wrong number.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from statistics import mean
from typing import Any, Final, Literal, get_args

from fleet import Fleet, eventually

Moment = Literal["before the first command", "in a command", "between commands", "while it is graded"]
MOMENTS: Final[tuple[Moment, ...]] = get_args(Moment)

TIMES: Final = (1, 3, 2, 4)
APPEND: Final = "echo x >> calls"
# Much longer than any other command of a group takes, the machine being busy.
LONG_COMMAND: Final = "touch begun; sleep 8"
LONG_S: Final = 1.5


def scripts(moment: Moment) -> list[list[str]]:
    """The commands of each rollout's policy, one a turn."""
    long = [LONG_COMMAND] if moment == "in a command" else []
    return [[APPEND] * times + (long if times == TIMES[-1] else []) for times in TIMES]


class Losing:
    """Kills the sandbox of the last rollout at its moment. `begins`: called before each command of its policy."""

    def __init__(self, fleet: Fleet, run: str, moment: Moment) -> None:
        self.fleet = fleet
        self.run = run
        self.moment = moment

    def begins(self, rollout: str, turn: int) -> None:
        if (self.moment, turn) == ("before the first command", 0):
            self._kill_unused(rollout)
        if (self.moment, turn) == ("between commands", 2):
            self.fleet.kill_sandbox_of(rollout)

    @contextmanager
    def watching(self, rollout: str) -> Generator[None]:
        """While its trainer waits: kills the sandbox in a command that takes long, or in the grading."""
        watch = threading.Thread(target=self.watch, args=[rollout])
        watch.start()
        try:
            yield
        finally:
            watch.join()

    def watch(self, rollout: str) -> None:
        if self.moment in ("in a command", "while it is graded"):
            since: dict[int, float] = {}
            eventually(lambda: self._is_busy(rollout, since), f"{rollout} works for long", within_s=120)
            self.fleet.kill_sandbox_of(rollout)

    def _is_busy(self, rollout: str, since: dict[int, float]) -> bool:
        told = self.fleet.rollout(rollout, self.run)
        if told.get("state") == "grading":
            return True
        began = since.setdefault(len(told.get("calls", [])), time.monotonic())
        return told.get("in_flight") == 1 and time.monotonic() - began > LONG_S

    def _kill_unused(self, rollout: str) -> None:
        def sandbox() -> Any:
            return self.fleet.rollout(rollout, self.run).get("epoch")

        first = eventually(sandbox, "it has a sandbox")
        self.fleet.kill_sandbox_of(rollout)
        # A call that is let in before the loss is known counts as one that may have run.
        eventually(lambda: self._is_lost(rollout) or sandbox() != first, "its loss is known")

    def _is_lost(self, rollout: str) -> bool:
        return self.fleet.rollout(rollout, self.run)["verdict"]["kind"] == "discard"


def expect_two_or_healed(moment: Moment, rewards: Sequence[float | None]) -> bool:
    """Whether the last rollout was lost, and has no reward. Where nothing has run, its sandbox may be replaced."""
    seen = sorted(rewards, key=str)
    if moment == "before the first command" and seen == sorted(TIMES):
        return False
    assert seen == sorted((*TIMES[:-1], None), key=str), (moment, rewards)
    assert mean(each for each in rewards if each is not None) == 2.0
    return True


def expect_report(fleet: Fleet, run: str, lost: bool) -> None:
    """The fleet's own words for the run, if it grades or is brought the scores."""
    report = fleet.report(run)
    assert (report["scored"], report["discarded"]) == ((3, 1) if lost else (4, 0))
    assert report["blame"] == ({"infrastructure": 1} if lost else {})
    assert [line["mean"] for line in report["groups"]] == [2.0 if lost else 2.5]
    assert (report["mean"], report["reward_if_zeroed"]) == ((2.0, 1.5) if lost else (2.5, 2.5))
