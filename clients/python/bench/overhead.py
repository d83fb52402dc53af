"""What the client costs: added time of a tool call beside plain httpx, and what 512 rollouts in one process take.

`npm run test:clients -- --bench` prints it, and judges nothing: this machine's figures are not yours.
"""

from __future__ import annotations

import asyncio
import resource
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import httpx

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from fleet import Fleet, running_fleet

import corral

CALLS = 300
ROLLOUTS = 512


async def timed(call: Callable[[int], Awaitable[object]], number: int) -> float:
    started = time.perf_counter()
    await call(number)
    return (time.perf_counter() - started) * 1000


async def added_by_the_client(fleet: Fleet) -> None:
    """The same call of the same rollout, by turns, so that what the machine does meanwhile hits both alike."""
    async with (
        corral.Rollout("counting", client=fleet.client("bench")) as rollout,
        httpx.AsyncClient() as http,
    ):
        await rollout.exec("true")
        address = f"{fleet.url}/v1/rollouts/{rollout.rollout_id}/exec"
        headers = {"authorization": f"Bearer {fleet.key}", "x-corral-run": "bench"}

        async def plain(number: int) -> None:
            body = {"call_id": f"plain-{number}", "argv": ["true"]}
            (await http.post(address, json=body, headers=headers, timeout=60)).raise_for_status()

        async def ours(_number: int) -> None:
            await rollout.exec(["true"])

        took = [(await timed(plain, number), await timed(ours, number)) for number in range(CALLS)]
    plain_ms, ours_ms = (statistics.median(each) for each in zip(*took[CALLS // 10 :], strict=True))
    added = statistics.median(one[1] - one[0] for one in took[CALLS // 10 :])
    print(
        f"tool call p50, {CALLS} each by turns: httpx {plain_ms:.1f} ms, corral {ours_ms:.1f} ms, added {added:.2f} ms"
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
        asyncio.run(added_by_the_client(running))
        asyncio.run(many_rollouts(running))
