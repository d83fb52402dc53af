"""The connections of one event loop, shared by every rollout and every client of it.

Frameworks make a client for each sandbox. 512 of them with a pool each would be 512 idle sockets and as many TLS contexts.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Coroutine
from typing import Any, Final
from weakref import WeakKeyDictionary

import httpx

from .errors import Failure, Misuse
from .transport import socket_options

# A call takes a socket for as long as it is held. Beyond those, so many stay open for the next ones: enough that a busy
# loop seldom dials, and a rollout that thinks holds none.
IDLE_SOCKETS: Final = 8
# Less than the gateway's own 72 s and the 60 s of common load balancers, so that the client is the one who hangs up.
IDLE_S: Final = 30.0
# Heartbeats at once: 512 rollouts renew their leases within seconds, and never with 512 sockets.
BEATS_AT_ONCE: Final = 4


_met: Final[set[str]] = set()


class Pool:
    """What one event loop shares."""

    def __init__(self) -> None:
        self.http = open_http()
        self.beats = asyncio.Semaphore(BEATS_AT_ONCE)
        self.met: Final = _met
        """Gateways that have answered this process once: from then on a stranger's answer is an accident on the way."""
        self.reported: Final[dict[tuple[str, str], float]] = {}
        """When a failure of a gateway that is tried again was last logged, by its code."""
        self._tasks: set[asyncio.Task[Any]] = set()

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """A task that nobody has to await, held here because the loop itself holds it weakly."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


def open_http() -> httpx.AsyncClient:
    limits = httpx.Limits(
        max_connections=None, max_keepalive_connections=IDLE_SOCKETS, keepalive_expiry=IDLE_S
    )
    # A transport of our own is needed for the sockets' options, and then httpx leaves proxies of the environment to us: a
    # gateway is reached directly, or through what CORRAL_URL names.
    transport = httpx.AsyncHTTPTransport(limits=limits, socket_options=socket_options())
    return httpx.AsyncClient(transport=transport, follow_redirects=False, trust_env=False)


_pools: WeakKeyDictionary[asyncio.AbstractEventLoop, Pool] = WeakKeyDictionary()
_endings: WeakKeyDictionary[asyncio.AbstractEventLoop, AsyncGenerator[None, None]] = WeakKeyDictionary()


async def pool_of_loop() -> Pool:
    """The pool of the running loop; it is closed with the loop."""
    loop = _running_loop()
    pool = _pools.get(loop)
    if pool is None:
        pool = _pools[loop] = Pool()
        ending = _endings[loop] = _closes(pool.http)
        await anext(ending)
    return pool


def _running_loop() -> asyncio.AbstractEventLoop:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        message = "no event loop of asyncio runs here; under trio, use corral.sync in a thread"
        failure = Failure("invalid_request", message, "caller", "no", retryable=False, tainted=False)
        raise Misuse(failure) from None


async def _closes(http: httpx.AsyncClient) -> AsyncGenerator[None, None]:
    """A loop that ends closes the generators that were begun in it: its only sign for others that it ends."""
    try:
        yield
    finally:
        await http.aclose()


def _forget() -> None:
    _pools.clear()
    _endings.clear()


# A forked child has the parent's sockets, and must not speak on them.
os.register_at_fork(after_in_child=_forget)
