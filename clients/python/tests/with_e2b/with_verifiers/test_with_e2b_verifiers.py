"""Stock verifiers, `runtime.type e2b`, on a real fleet: what prime-rl's mean of four rollouts becomes."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from statistics import mean

import pytest
import verifiers.v1 as vf
from balancer import balancer
from fleet import Fleet
from killing import in_long_command, kill_in_long_command
from running_lines import CountsLines, RunningLines, ScriptedHarness
from verifiers.v1.clients import ModelContext
from verifiers.v1.env import RunSlot
from verifiers.v1.utils.loaders import load_environment, resolve_env_config

APPEND = "for each in $(seq {}); do echo x >> calls; done"
Disturb = Callable[[], Awaitable[object]]


@pytest.fixture(autouse=True)
def task(image: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RunningLines, "image", image)
    monkeypatch.setenv("SCRIPTED_KEY", "none")


async def play(commands: Sequence[str], disturb: Disturb | None = None) -> list[vf.Episode]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    env = load_environment(
        resolve_env_config(
            {
                "taskset": {"id": "running_lines"},
                "agent": {
                    "harness": {"id": "running_lines"},
                    "runtime": {"type": "e2b", "creates_per_sec": None},
                },
                "interception": {
                    "type": "server",
                    "tunnel": {"type": "custom", "url": f"http://127.0.0.1:{port}", "port": port},
                },
            }
        )
    )
    client = vf.EvalClientConfig(base_url="http://127.0.0.1:9", api_key_var="SCRIPTED_KEY")
    ctx = ModelContext(model="scripted", client=client, sampling=vf.SamplingConfig())

    async def one(slot: RunSlot, command: str) -> vf.Episode:
        def on_trace(trace: vf.Trace) -> None:
            ScriptedHarness.commands[trace.id] = command

        return await env.run_slot(slot, ctx, on_trace=on_trace)

    async with env.serving():
        slots = env.slots(next(iter(env.taskset)), len(commands))
        playing = asyncio.gather(*(one(slot, command) for slot, command in zip(slots, commands, strict=True)))
        if disturb is not None:
            await disturb()
        return await playing


def rewards(episodes: Sequence[vf.Episode]) -> list[float | None]:
    """As prime-rl takes them: a trace that is not `ok` is in no mean."""
    return [trace.reward if trace.ok else None for episode in episodes for trace in episode.traces]


def expect_one_lost(fleet: Fleet, run: str, episodes: Sequence[vf.Episode]) -> None:
    assert rewards(episodes) == [1, 3, 2, None]
    assert mean(each for each in rewards(episodes) if each is not None) == 2.0
    [lost] = [trace for episode in episodes for trace in episode.traces if not trace.ok]
    assert lost.last_error is not None
    assert (lost.last_error.type, lost.rewards.get("lines")) == ("SandboxError", None)
    report = fleet.report(run)
    assert (report["rollouts"], report["discarded"]) == (4, 1)
    assert report["blame"] == {"infrastructure": 1}


def commands(last: str) -> list[str]:
    return [*(APPEND.format(times) for times in (1, 3, 2)), last]


async def test_killed_in_a_command_the_trainer_reads_two(fleet: Fleet, run: str):
    episodes = await play(commands("echo x >> calls; sleep 8"), lambda: kill_in_long_command(fleet, run))
    expect_one_lost(fleet, run, episodes)


async def test_killed_while_it_is_graded_the_trace_has_no_reward(
    fleet: Fleet, run: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(CountsLines, "seconds", 6)
    episodes = await play([APPEND.format(2)] * 4, lambda: kill_in_long_command(fleet, run))
    assert sorted(rewards(episodes), key=str) == [2, 2, 2, None]
    assert fleet.report(run)["blame"] == {"infrastructure": 1}


async def test_the_models_own_time_out_is_the_exit_code_of_its_program(fleet: Fleet, run: str):
    [episode] = await play(["echo x >> calls; timeout 1 sleep 60"])
    [trace] = episode.traces
    assert (rewards([episode]), ScriptedHarness.ran[trace.id].exit_code) == ([1], 143)
    assert fleet.report(run)["discarded"] == 0


async def test_a_gateway_that_dies_in_a_program_leaves_its_trace_without_a_reward(
    fleet: Fleet, run: str, monkeypatch: pytest.MonkeyPatch
):
    async def restart() -> None:
        await in_long_command(fleet, run)
        await asyncio.to_thread(fleet.await_gateway_after, fleet.kill_gateway())

    async with balancer(fleet.url) as url:
        for name in ("E2B_API_URL", "E2B_SANDBOX_URL"):
            monkeypatch.setenv(name, f"{url}/e2b/runs/{run}")
        [episode] = await play(["echo x >> calls; sleep 12; echo x >> calls"], restart)
    assert rewards([episode]) == [None]
    assert fleet.report(run)["codes"] == {"sandbox_lost": 1}
