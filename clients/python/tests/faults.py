"""Faults by chance, by a seed: sandboxes that die, gateways that die or stand still, while four rollouts are played."""

from __future__ import annotations

import os
import random
import signal
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Final, Literal, get_args

import httpx
from fleet import Fleet, eventually

Kind = Literal["sandbox", "gateway", "stall"]

# A line too few or too many makes the number of no other rollout.
FAULTY_TIMES: Final = (1, 4, 7, 10)
SLOW_APPEND: Final = "sleep 0.2; echo x >> calls"
STALL_S: Final = 3.0

SEEDS: Final = range(1, 21)


@dataclass(frozen=True)
class Fault:
    after_s: float
    """Since the fault before it."""
    kind: Kind
    pick: float
    """Which of the sandboxes that there are then, from 0 to 1."""


def faults_of(seed: int) -> list[Fault]:
    chance = random.Random(seed)
    return [
        Fault(chance.uniform(0.1, 1.5), chance.choice(get_args(Kind)), chance.random())
        for _ in range(chance.randint(1, 3))
    ]


@contextmanager
def faults(fleet: Fleet, run: str, seed: int) -> Generator[None]:
    """While the block plays four rollouts; at its end the fleet is whole again."""
    over = threading.Event()
    inflicting = threading.Thread(target=_inflict, args=[fleet, run, seed, over])
    inflicting.start()
    try:
        yield
    finally:
        over.set()
        inflicting.join()
        eventually(fleet.is_ready, "there is a gateway")
        fleet.end_run(run)


def expect_truth(fleet: Fleet, run: str, rewards: Sequence[float | None]) -> None:
    """Each rollout has the reward of what it ran, or none: no false zero, and no command that ran twice."""
    found = [each for each in rewards if each is not None]
    assert len(rewards) == len(FAULTY_TIMES)
    is_true = len(set(found)) == len(found) and set(found) <= set(FAULTY_TIMES)
    assert is_true, (rewards, fleet.verdicts(run))


def _inflict(fleet: Fleet, run: str, seed: int, over: threading.Event) -> None:
    while len(_rollouts(fleet, run)) < len(FAULTY_TIMES):
        if over.wait(0.05):
            return
    for fault in faults_of(seed):
        if over.wait(fault.after_s):
            return
        # What a fault hits may have just ended, by itself or by the one before.
        with suppress(ProcessLookupError):
            _strike(fleet, run, fault, over)


def _strike(fleet: Fleet, run: str, fault: Fault, over: threading.Event) -> None:
    if fault.kind == "gateway":
        fleet.kill_gateway()
    elif fault.kind == "stall":
        fleet.stall_gateway(lambda: over.wait(STALL_S))
    else:
        names = _rollouts(fleet, run)
        held = sorted((name, pid) for name, pid in fleet.holders().items() if name in names)
        if held:
            os.kill(held[int(fault.pick * len(held))][1], signal.SIGKILL)


def _rollouts(fleet: Fleet, run: str) -> list[str]:
    try:
        return [each["rollout_id"] for each in fleet.get(f"/v1/runs/{run}/rollouts", run)["rollouts"]]
    except (httpx.HTTPError, KeyError):
        return []
