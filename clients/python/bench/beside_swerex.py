"""32 sandboxes that nobody has made ready, until each has answered a command over HTTP: of a fleet, and as servers of SWE-ReX.

`npm run test:clients -- --bench` prints it, and judges nothing: this machine's figures are not yours. The two are not the same
thing: a server of SWE-ReX is a process of this machine and no sandbox; where it runs in one, that has to start as well.
"""

from __future__ import annotations

import asyncio
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import httpx

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from fleet import Fleet, running_fleet

import corral

SANDBOXES = 32
CALLS = 100
TURNS = 2
AUTH = "bench"


class Server:
    """`swerex-remote`, as a harness starts it in a container."""

    def __init__(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        argv = [sys.executable, "-m", "swerex.server", "--port", str(self.port), "--auth-token", AUTH]
        self.process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    async def execute(self, http: httpx.AsyncClient) -> None:
        address = f"http://127.0.0.1:{self.port}/execute"
        while True:
            try:
                body = {"command": ["true"], "timeout": 60}
                answer = await http.post(address, json=body, headers={"X-API-Key": AUTH}, timeout=120)
                answer.raise_for_status()
                return
            except httpx.ConnectError:
                await asyncio.sleep(0.02)


async def first_of_corral(fleet: Fleet, turn: int) -> float:
    client = fleet.client(f"bench-{turn}")
    rollouts = [corral.Rollout("many", client=client) for _ in range(SANDBOXES)]
    started = time.perf_counter()
    await asyncio.gather(*(one.exec(["true"]) for one in rollouts))
    took = time.perf_counter() - started
    await asyncio.gather(*(one.finish() for one in rollouts))
    return took


async def first_of_swerex(http: httpx.AsyncClient) -> float:
    started = time.perf_counter()
    servers = [Server() for _ in range(SANDBOXES)]
    try:
        await asyncio.gather(*(one.execute(http) for one in servers))
        return time.perf_counter() - started
    finally:
        for one in servers:
            one.process.kill()
            one.process.wait()


async def first_commands(fleet: Fleet, http: httpx.AsyncClient) -> None:
    """By turns, so that what the machine does meanwhile hits both alike."""
    ours: list[float] = []
    theirs: list[float] = []
    for turn in range(TURNS):
        ours.append(await first_of_corral(fleet, turn))
        # What was let go is gone before the next begins.
        await asyncio.sleep(3)
        theirs.append(await first_of_swerex(http))
    print(
        f"first command of {SANDBOXES} over HTTP, cold, {TURNS} turns each: corral {shown(ours)}, swerex-remote {shown(theirs)}"
    )


def shown(took: list[float]) -> str:
    return " and ".join(f"{each:.1f} s" for each in took)


async def commands(fleet: Fleet, http: httpx.AsyncClient) -> None:
    server = Server()
    try:
        await server.execute(http)
        async with corral.Rollout("many", client=fleet.client("bench-p50")) as rollout:
            await rollout.exec(["true"])
            ours, theirs = await by_turns(lambda: rollout.exec(["true"]), lambda: server.execute(http))
    finally:
        server.process.kill()
        server.process.wait()
    print(f"command p50, {CALLS} each by turns: corral {ours:.1f} ms, swerex-remote {theirs:.1f} ms")
    print(
        "  the difference: two hops of HTTP instead of one, two writes to fleet state (let in, and the answer kept"
        "\n  before it is told), and a process of another user in namespaces of its own; swerex-remote calls"
        "\n  subprocess.run and remembers nothing"
    )


async def by_turns(
    one: Callable[[], Awaitable[object]], other: Callable[[], Awaitable[object]]
) -> tuple[float, float]:
    async def timed(call: Callable[[], Awaitable[object]]) -> float:
        started = time.perf_counter()
        await call()
        return (time.perf_counter() - started) * 1000

    took = [(await timed(one), await timed(other)) for _ in range(CALLS)]
    return statistics.median(each[0] for each in took), statistics.median(each[1] for each in took)


async def main(fleet: Fleet) -> None:
    async with httpx.AsyncClient() as http:
        await first_commands(fleet, http)
        await commands(fleet, http)


if __name__ == "__main__":
    with running_fleet() as running:
        asyncio.run(main(running))
