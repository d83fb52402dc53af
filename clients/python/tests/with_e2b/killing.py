"""Which rollout of a run is where a test wants it: E2B's frameworks do not say which sandbox they are in."""

from __future__ import annotations

import asyncio
import time

from fleet import Fleet, eventually

# Longer than any other command of these tests takes, the machine being busy.
LONG_S = 1.5


async def kill_in_long_command(fleet: Fleet, run: str) -> None:
    fleet.kill_sandbox_of(await in_long_command(fleet, run))


async def in_long_command(fleet: Fleet, run: str) -> str:
    """The rollout whose command has run for some time, as soon as there is one."""
    since: dict[tuple[str, int], float] = {}

    def find() -> str | None:
        for line in fleet.get(f"/v1/runs/{run}/rollouts", run)["rollouts"]:
            rollout = line["rollout_id"]
            told = fleet.rollout(rollout, run)
            now = time.monotonic()
            if told["in_flight"] == 1 and now - since.setdefault((rollout, len(told["calls"])), now) > LONG_S:
                return rollout
        return None

    return await asyncio.to_thread(eventually, find, "a command runs for long")
