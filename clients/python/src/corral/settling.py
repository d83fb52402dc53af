"""Waits for a task's standing, and has its controls played where this process is the one that is to play them.

All rollouts of a process that wait for the same task share one question and one run of the controls. The run does not end
with the rollout that started it: later rollouts need its result too.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final
from weakref import WeakKeyDictionary

from .errors import CorralError
from .standing import Outcome, TaskKey, ask_standing, record_outcome

log = logging.getLogger("corral")

# A lease lasts 60 s; two renewals may be lost.
RENEW_S: Final = 20.0
ASK_AGAIN_S: Final = 2.0


@dataclass(frozen=True, slots=True)
class Played:
    """What the controls showed. `requirement` and `fix`: of a task that was refused before it could be played."""

    outcome: Outcome
    reason: str = ""
    solution_verifier_took_s: float | None = None
    requirement: str = "reward"
    fix: str = ""


Play = Callable[[], Awaitable[Played]]

_waiting: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[tuple[str, str, str], asyncio.Task[Played]]] = (
    WeakKeyDictionary()
)


async def settle_standing(key: TaskKey, play: Play, *, again: bool = False) -> Played:
    """The task's standing as an outcome; `inconclusive` where the controls showed nothing. Cancelling a waiter leaves the
    controls running. `again`: forgets what is recorded."""
    return await asyncio.shield(begin_settling(key, play, again=again))


def begin_settling(key: TaskKey, play: Play, *, again: bool = False) -> asyncio.Task[Played]:
    """The shared work of all waiters for this task; it runs also where nothing waits for it."""
    shared = _waiting.setdefault(asyncio.get_running_loop(), {})
    name = (key.client.gateway.url, key.environment, key.digest)
    if name not in shared:
        task = asyncio.create_task(_settle(key, play, again))
        shared[name] = task
        task.add_done_callback(lambda done: _forget(shared, name, done))
    return shared[name]


def _forget(
    shared: dict[tuple[str, str, str], asyncio.Task[Played]],
    name: tuple[str, str, str],
    done: asyncio.Task[Played],
) -> None:
    """The fleet keeps what is known, so the next waiter asks the fleet."""
    del shared[name]
    if not done.cancelled() and (error := done.exception()) is not None:
        log.debug("the standing of a task is unknown: %s", error)


async def _settle(key: TaskKey, play: Play, again: bool) -> Played:
    holder = uuid.uuid4().hex
    while True:
        standing = await ask_standing(key, holder, again=again)
        again = again and standing.state == "wait"
        if standing.state == "play":
            played = await _play(key, holder, play)
            if played is not None:
                return played
        elif standing.state != "wait":
            return Played(standing.state, standing.reason, standing.solution_verifier_took_s)
        await asyncio.sleep(ASK_AGAIN_S)


async def _play(key: TaskKey, holder: str, play: Play) -> Played | None:
    """None where another holder took the controls over, because this one was away for longer than its lease."""
    playing = asyncio.ensure_future(play())
    try:
        while not (await asyncio.wait({playing}, timeout=RENEW_S))[0]:
            if not await _renew(key, holder):
                return None
        played = playing.result()
    finally:
        playing.cancel()
    await _record(key, holder, played)
    return played


async def _renew(key: TaskKey, holder: str) -> bool:
    try:
        return (await ask_standing(key, holder)).state == "play"
    except CorralError as error:
        log.warning("the lease of a task's controls was not renewed: %s", error)
        return True


async def _record(key: TaskKey, holder: str, played: Played) -> None:
    """What was played is true whether the fleet takes the record or not."""
    # A refusal that the fleet gives at every open needs no record, and no reward was seen.
    outcome = "inconclusive" if played.requirement != "reward" else played.outcome
    try:
        await record_outcome(key, holder, outcome, played.reason, played.solution_verifier_took_s)
    except CorralError as error:
        log.warning("the standing of a task was not recorded: %s", error)
