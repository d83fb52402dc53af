"""What this process holds in the fleet, and lets go when it ends.

A rollout that nobody finished ends with its lease, minutes later. A process that ends in order need not leave that: at exit,
and on SIGTERM, every rollout that it still holds is deleted, all at once and within seconds. A process that is killed leaves
it to the lease: nobody renews it any more.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import signal
import socket
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any, Final

from .exchange import Asked, Gateway, request_of
from .pool import open_http
from .routes import DELETE, Route
from .transport import Answer, Broken, send

# A scheduler that sends SIGTERM kills after 30 s mostly, some after 10.
AT_MOST_S: Final = 8.0
AT_ONCE: Final = 32
TRIES: Final = 3
PAUSE_S: Final = 0.3


@dataclass(frozen=True)
class Held:
    """A rollout that may hold a sandbox."""

    gateway: Gateway
    rollout_id: str
    attempt: int

    def path(self, route: Route) -> str:
        return route.at(id=self.rollout_id)

    @property
    def query(self) -> dict[str, str]:
        return {"attempt": str(self.attempt)}


_held: dict[Held, None] = {}
_prepared = False


def hold(held: Held) -> None:
    _held[held] = None


def is_held(held: Held) -> bool:
    return held in _held


def let_go(held: Held) -> None:
    _held.pop(held, None)


def prepare_to_leave() -> None:
    """Called by whoever makes a rollout, for only the main thread may say what a signal does. A handler that is there
    already stays: it ends the process in order, or knows better."""
    global _prepared
    if not _prepared:
        _prepared = True
        atexit.register(end_all)
    if (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    ):
        signal.signal(signal.SIGTERM, _on_sigterm)


def _on_sigterm(number: int, _frame: FrameType | None) -> None:
    """Lets go, and then ends as it would have ended without us: by the signal."""
    end_all()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def end_all() -> None:
    """Deletes all that is held; returns when that is done or its time is up."""
    held = list(_held)
    _held.clear()
    if not held:
        return
    if _runs_a_loop():
        # The handler of a signal interrupts a loop; another one can only run in another thread.
        ending = threading.Thread(target=_run, args=(held,), daemon=True)
        ending.start()
        ending.join(AT_MOST_S + 1)
    else:
        _run(held)


def _runs_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _run(held: Sequence[Held]) -> None:
    try:
        with asyncio.Runner(loop_factory=_LastLoop) as runner:
            runner.run(_delete_all(held))
    except Exception as error:
        print(f"corral: {len(held)} rollouts are left to their leases: {error}", file=sys.stderr)


async def _delete_all(held: Sequence[Held]) -> None:
    at_once = asyncio.Semaphore(AT_ONCE)
    async with open_http() as http:

        async def delete(one: Held) -> None:
            asked = Asked(DELETE, one.path(DELETE), query=one.query, silent_s=AT_MOST_S)
            async with at_once:
                for _ in range(TRIES):
                    if _is_done(await send(http, request_of(one.gateway, asked, AT_MOST_S))):
                        return
                    await asyncio.sleep(PAUSE_S)

        tasks = [asyncio.ensure_future(delete(one)) for one in held]
        _, late = await asyncio.wait(tasks, timeout=AT_MOST_S)
        for task in late:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _is_done(answer: Answer | Broken) -> bool:
    """A rollout that is not known may be on its way: its open was sent in the moment before."""
    return isinstance(answer, Answer) and answer.status < 500 and answer.status != 404


class _LastLoop(asyncio.SelectorEventLoop):
    """Looks names up by itself: an interpreter that ends starts no thread any more, and loops look names up in threads."""

    async def getaddrinfo(self, host: Any, port: Any, **options: Any) -> Any:
        return socket.getaddrinfo(host, port, **options)


def _forget() -> None:
    _held.clear()


# What the parent holds is not the child's to end.
os.register_at_fork(after_in_child=_forget)
