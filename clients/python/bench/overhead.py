"""What the client costs: an exec next to the same one by hand over HTTP, alone and 64 at once, and what 512 rollouts take.

`npm run test:clients -- --bench` prints it, and judges nothing: this machine's figures are not yours.
"""

from __future__ import annotations

import asyncio
import resource
import statistics
import sys
import time
import uuid
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import httpx

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from fleet import Fleet, running_fleet

import corral

CALLS = 300
ROLLOUTS = 512
AT_ONCE = 64
BATCHES = 30
SANDBOXES = 8


async def timed(call: Callable[[int], Awaitable[object]], number: int) -> float:
    started = time.perf_counter()
    await call(number)
    return (time.perf_counter() - started) * 1000


async def next_to_http(fleet: Fleet) -> None:
    """The same exec of the same rollouts, alternating, so that what the machine does meanwhile hits both alike."""
    client = fleet.client("bench")
    async with AsyncExitStack() as stack:
        http = await stack.enter_async_context(httpx.AsyncClient())
        rollouts = [
            await stack.enter_async_context(corral.Rollout("counting", client=client))
            for _ in range(SANDBOXES)
        ]
        await asyncio.gather(*(one.exec("true") for one in rollouts))
        headers = {"authorization": f"Bearer {fleet.key}", "x-corral-run": "bench"}

        async def by_hand(rollout: corral.Rollout) -> None:
            address = f"{fleet.url}/v1/rollouts/{rollout.rollout_id}/exec"
            body = {"call_id": f"by-hand-{uuid.uuid4().hex}", "argv": ["true"]}
            (await http.post(address, json=body, headers=headers, timeout=60)).raise_for_status()

        async def by_client(rollout: corral.Rollout) -> None:
            await rollout.exec(["true"])

        def of(
            call: Callable[[corral.Rollout], Awaitable[None]], at_once: int
        ) -> Callable[[int], Awaitable[object]]:
            return lambda _: asyncio.gather(*(call(rollouts[each % SANDBOXES]) for each in range(at_once)))

        await compare("one exec", CALLS, of(by_hand, 1), of(by_client, 1), most=1.5)
        await compare(
            f"{AT_ONCE} execs at once", BATCHES, of(by_hand, AT_ONCE), of(by_client, AT_ONCE), most=1.3
        )


async def compare(
    what: str,
    times: int,
    by_hand: Callable[[int], Awaitable[object]],
    by_client: Callable[[int], Awaitable[object]],
    most: float,
) -> None:
    took = [(await timed(by_hand, number), await timed(by_client, number)) for number in range(times)]
    hand_ms, client_ms = (statistics.median(each) for each in zip(*took[times // 10 :], strict=True))
    print(
        f"{what}, median of {times}, alternating: by hand {hand_ms:.1f} ms, corral {client_ms:.1f} ms, "
        f"{client_ms / hand_ms:.2f} times (goal: {most} at most)"
    )


def sockets() -> int:
    return sum(
        "socket:" in str(each.readlink()) for each in Path("/proc/self/fd").iterdir() if each.is_symlink()
    )


async def many_rollouts(fleet: Fleet) -> None:
    """512 rollouts call at once, and one sandbox serves them: all but one are held, each with its socket."""
    before = sockets()
    client = fleet.client("bench-many")
    held = [corral.Rollout("narrow", item={"id": "many"}, client=client) for _ in range(ROLLOUTS)]
    await asyncio.gather(*(one.open() for one in held))
    opened = sockets() - before
    calling = [asyncio.create_task(one.exec("true")) for one in held]
    until, most = time.monotonic() + 10, 0
    while time.monotonic() < until:
        await asyncio.sleep(0.1)
        most = max(most, sockets() - before - sum(not one.done() for one in calling))
    in_flight = sum(not one.done() for one in calling)
    print(f"{ROLLOUTS} rollouts open and idle: {opened} sockets")
    print(
        f"{in_flight} calls in flight: {sockets() - before} sockets, at most {most} more than calls at any time"
    )
    print(
        f"memory of the process at most: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB"
    )
    for one in calling:
        one.cancel()
    await asyncio.gather(*calling, return_exceptions=True)
    await asyncio.gather(*(one.finish() for one in held))


if __name__ == "__main__":
    with running_fleet() as running:
        asyncio.run(next_to_http(running))
        asyncio.run(many_rollouts(running))
