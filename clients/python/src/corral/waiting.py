"""Logs why rollouts still wait for their sandbox, while their first call is held.

A request may be held for minutes without a byte. So every few seconds the fleet is asked for the reason: once for all
rollouts of the same task, because they wait for the same sandboxes, and one request at a time. A reason is logged when it is
new, and then once a minute.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final
from weakref import WeakKeyDictionary

from .errors import CorralError
from .exchange import REPORT_EVERY_S, Asked, exchange
from .leaving import Held
from .pool import Pool
from .routes import OPEN, VIEW
from .writing import json_text

log = logging.getLogger("corral")

# Most sandboxes are there earlier. The first look comes after one to two of these.
LOOK_EVERY_S: Final = 4.0
ANSWERED_WITHIN_S: Final = 10.0
# Rollouts of one task that are asked for in one round: those that no longer wait are asked for once.
LOOKS_OF_A_TASK: Final = 8
REASONS_KEPT: Final = 256


@dataclass(frozen=True, eq=False)
class Waiter:
    """A rollout whose first call is under way. `body`: what opens it."""

    held: Held
    body: Mapping[str, Any]
    asked: Asked
    since_s: float

    @property
    def environment(self) -> str:
        return str(self.body["environment"])

    @property
    def task(self) -> tuple[Any, ...]:
        """Rollouts with the same one are started from the same template."""
        return self.held.gateway, self.environment, json_text({"item": self.body.get("item")})


@dataclass(frozen=True)
class Reason:
    """`kind`: what it is known by, so that it is not logged again and again."""

    kind: str
    text: str


class Waits:
    """The waiting rollouts of one event loop."""

    def __init__(self) -> None:
        self._waiters: dict[Waiter, None] = {}
        self._logged: dict[tuple[str, str], float] = {}
        """When a reason of an environment was last logged."""
        self._watching: asyncio.Task[None] | None = None

    def add(self, pool: Pool, waiter: Waiter) -> None:
        self._waiters[waiter] = None
        if self._watching is None:
            self._watching = pool.spawn(self._watch(pool))

    def remove(self, waiter: Waiter) -> None:
        self._waiters.pop(waiter, None)

    async def _watch(self, pool: Pool) -> None:
        clock = asyncio.get_running_loop().time
        looked = 0.0
        try:
            while self._waiters:
                due = max(looked, min(one.since_s for one in self._waiters)) + LOOK_EVERY_S
                await asyncio.sleep(due - clock())
                old = [one for one in self._waiters if clock() - one.since_s >= LOOK_EVERY_S]
                if old:
                    looked = clock()
                for waiters in _by_task(old):
                    await self._look(pool, waiters)
        finally:
            self._watching = None
            self._logged.clear()

    async def _look(self, pool: Pool, waiters: list[Waiter]) -> None:
        for waiter in waiters[:LOOKS_OF_A_TASK]:
            reason = await _reason_of(pool, waiter)
            if reason is not None:
                self._log(waiter, len(waiters), reason)
                return
            # Its call runs, or it is answered.
            self.remove(waiter)

    def _log(self, waiter: Waiter, count: int, reason: Reason) -> None:
        known = (waiter.environment, reason.kind)
        now = asyncio.get_running_loop().time()
        if now - self._logged.get(known, -REPORT_EVERY_S) < REPORT_EVERY_S or waiter not in self._waiters:
            return
        if len(self._logged) >= REASONS_KEPT:
            self._logged.clear()
        self._logged[known] = now
        waited_s = now - waiter.since_s
        also = "" if count == 1 else f", and {count - 1} more of its task"
        log.warning(
            "rollout %s of %s has waited for its sandbox for %.0f s%s: %s",
            waiter.held.rollout_id,
            waiter.environment,
            waited_s,
            also,
            reason.text,
        )


def _by_task(waiters: Iterable[Waiter]) -> Iterable[list[Waiter]]:
    tasks: dict[tuple[Any, ...], list[Waiter]] = {}
    for waiter in waiters:
        tasks.setdefault(waiter.task, []).append(waiter)
    return tasks.values()


async def _reason_of(pool: Pool, waiter: Waiter) -> Reason | None:
    """None where it does not wait for a sandbox."""
    if waiter.asked.troubles:
        failure = waiter.asked.troubles[-1].failure
        return _reason(failure.code, f"the last try failed with {failure.code}: {failure.message}")
    if waiter.asked.route is OPEN:
        return Reason("open", "its opening has no answer yet")
    asked = Asked(
        VIEW, waiter.held.path(VIEW), query=waiter.held.query, silent_s=ANSWERED_WITHIN_S, is_watched=True
    )
    try:
        reply = await exchange(pool, waiter.held.gateway, asked, patience_s=0)
    except CorralError as error:
        return _reason(error.code, f"the fleet does not say why: {error}")
    return read_reason(reply.body)


def read_reason(body: Mapping[str, Any]) -> Reason | None:
    """From the answer to `VIEW`; a fleet of an older version says nothing."""
    match body.get("waiting"):
        case {"last_start_failure": {"code": str(code), "message": str(message), "count": int(count)}}:
            return _reason(code, f"{_starts(count)} {code}: {message}")
        case {"ahead": 0}:
            return Reason("line", "it is next in line, and no start has failed")
        case {"ahead": int(ahead)}:
            return Reason("line", f"{ahead} rollouts stand before it in line")
        case _:
            return None


def _starts(count: int) -> str:
    return "the last start failed with" if count == 1 else f"the last {count} starts failed alike, with"


def _reason(code: str, text: str) -> Reason:
    """Times, sandboxes and process ids in it do not make it another one."""
    return Reason(f"{code} {re.sub('[0-9]+', '', text)}", text)


_waits: WeakKeyDictionary[Pool, Waits] = WeakKeyDictionary()


@contextmanager
def logging_why(pool: Pool, held: Held, body: Mapping[str, Any], asked: Asked) -> Generator[None]:
    """Around a request that may wait for a sandbox."""
    waits = _waits.get(pool)
    if waits is None:
        waits = _waits[pool] = Waits()
    waiter = Waiter(held, body, asked, asyncio.get_running_loop().time())
    waits.add(pool, waiter)
    try:
        yield
    finally:
        waits.remove(waiter)
