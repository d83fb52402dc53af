"""What a training job meets: its own mistakes at the first call, a full fleet, its own end, and many rollouts at once."""

from __future__ import annotations

import asyncio
import gc
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from fleet import Fleet, eventually

import corral


@pytest.mark.parametrize(
    ("environment", "key", "code"),
    [
        ("shell@1", "wrong", "unauthorized"),
        ("nothing", None, "unknown_environment"),
        ("", None, "invalid_request"),
    ],
)
async def test_a_mistake_of_the_job_stops_it_at_the_first_call_and_is_no_discard(
    fleet: Fleet, run: str, environment: str, key: str | None, code: str
):
    client = corral.Client(fleet.url, key or fleet.key, run)
    async with corral.Rollout(environment, client=client) as rollout:
        for _ in range(2):
            with pytest.raises(corral.Misuse) as misuse:
                await rollout.exec("true")
            assert misuse.value.code == code
        with pytest.raises(corral.Misuse):
            await rollout.grade()


@pytest.mark.parametrize("url", ["127.0.0.1:8700", "ftp://somewhere", "", "http://"])
def test_an_address_that_is_none_is_said_before_anything_is_sent(url: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("CORRAL_URL", raising=False)
    with pytest.raises(corral.Misuse, match="CORRAL_URL"):
        corral.Client(url, "key")
    with pytest.raises(corral.Misuse, match="CORRAL_KEY") as misuse:
        corral.Client("http://127.0.0.1:1", "a secret\n")
    assert "a secret" not in str(misuse.value)


async def test_thirty_seconds_without_a_sandbox_cost_nothing_and_there_are_four_rewards(
    fleet: Fleet, run: str
):
    # It asks again every few seconds, as a client with less patience for one request would have to.
    client = fleet.client(run, hold_s=5.0)

    async def play(item: str) -> float:
        async with corral.Rollout("narrow", item={"id": "t", "answer": item}, client=client) as rollout:
            result = await rollout.exec("echo here")
            assert result.stdout == "here\n"
            return (await rollout.grade({"output_text": "42"})).score

    async with corral.Rollout("narrow", client=client) as holder:
        await holder.exec("true")
        playing = [asyncio.create_task(play(item)) for item in ("42", "41", "42", "42")]
        await asyncio.sleep(30)
        assert [one for one in playing if one.done()] == []
    assert await asyncio.gather(*playing) == [1, 0, 1, 1]


async def test_work_longer_than_a_request_is_attached_to(fleet: Fleet, run: str):
    async with corral.Rollout("counting", client=fleet.client(run, hold_s=1.0)) as rollout:
        result = await rollout.exec("echo x >> calls; sleep 4; cat calls")
        assert result.stdout == "x\n"
    async with corral.Rollout("slow-grader", client=fleet.client(run, hold_s=1.0)) as rollout:
        await rollout.exec("echo x >> calls")
        assert (await rollout.grade()).score == 1


async def test_a_command_that_nobody_waits_for_any_more_is_stopped_and_the_rollout_goes_on(
    fleet: Fleet, run: str
):
    async with corral.Rollout("counting", client=fleet.client(run)) as rollout:
        await rollout.exec("true")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(rollout.exec("sleep 300", timeout_s=600), 2)
        await asyncio.to_thread(
            eventually, lambda: fleet.rollout(rollout.rollout_id, run)["in_flight"] == 0, "it was cancelled"
        )
        assert (await rollout.exec("echo x > calls")).exit_code == 0
        assert (await rollout.grade()).score == 1


async def test_a_trainer_that_thinks_longer_than_its_rollouts_may_be_idle_keeps_them(fleet: Fleet, run: str):
    async with corral.Rollout("brief", item={"answer": "42"}, client=fleet.client(run)) as rollout:
        await rollout.exec("echo x > kept")
        await asyncio.sleep(12)
        assert await rollout.read("kept") == b"x\n"
    closed = fleet.rollout(rollout.rollout_id, run)
    assert (closed["state"], closed["closed_by"]) == ("closed", "finished")


async def test_a_rollout_that_everybody_forgot_is_let_go(fleet: Fleet, run: str):
    rollout = corral.Rollout("brief", client=fleet.client(run))
    name = rollout.rollout_id
    await rollout.exec("true")
    del rollout
    gc.collect()
    await asyncio.to_thread(
        eventually, lambda: fleet.rollout(name, run)["closed_by"] == "deleted", "it was let go"
    )


TRAINER = """
import asyncio, os, sys
import corral
from corral import sync

async def main():
    held = [corral.Rollout(os.environ["ENVIRONMENT"], rollout_id=f"{os.environ['CORRAL_RUN']}-{i}") for i in range(3)]
    await asyncio.gather(*(one.exec("true") for one in held))
    print("ready", flush=True)
    await asyncio.sleep(float(sys.argv[1]))
    await asyncio.gather(*(one.exec("sleep 300") for one in held))

def in_a_thread():
    held = [sync.Rollout(os.environ["ENVIRONMENT"], rollout_id=f"{os.environ['CORRAL_RUN']}-{i}") for i in range(3)]
    for one in held:
        one.exec("true")
    print("ready", flush=True)
    held[0].exec("sleep " + str(float(sys.argv[1])), timeout_s=900)

in_a_thread() if "sync" in sys.argv else asyncio.run(main())
"""


@contextmanager
def trainer(
    fleet: Fleet, run: str, *args: str, environment: str = "brief"
) -> Generator[subprocess.Popen[str]]:
    """Another process that holds three sandboxes."""
    # By name: an interpreter that ends looks it up without the threads that loops use.
    url = fleet.url.replace("127.0.0.1", "localhost")
    given = {"CORRAL_URL": url, "CORRAL_KEY": fleet.key, "CORRAL_RUN": run, "ENVIRONMENT": environment}
    program = [sys.executable, "-c", TRAINER, *args]
    started = subprocess.Popen(program, env={**os.environ, **given}, stdout=subprocess.PIPE, text=True)
    assert started.stdout is not None
    assert started.stdout.readline() == "ready\n"
    started.stdout.close()
    try:
        # Who has a sandbox is written to its record within seconds.
        eventually(lambda: len(held_by(fleet, run)) == 3, "the trainer holds three")
        yield started
    finally:
        started.kill()
        started.wait()


def held_by(fleet: Fleet, run: str) -> list[str]:
    return sorted(name for name in fleet.holders() if name.startswith(run))


@pytest.mark.parametrize(
    "args", [("300",), ("0",), ("300", "sync")], ids=["thinking", "calling", "in a thread"]
)
def test_sigterm_of_the_trainer_leaves_nothing_and_it_ends_by_the_signal(
    fleet: Fleet, run: str, args: tuple[str, ...]
):
    # Its leases would last for minutes.
    with trainer(fleet, run, *args, environment="counting") as started:
        started.terminate()
        assert started.wait(30) == -signal.SIGTERM
    for number in range(3):
        assert fleet.rollout(f"{run}-{number}", run)["closed_by"] == "deleted"
    eventually(lambda: held_by(fleet, run) == [], "no sandbox is left")


def test_the_end_of_the_program_leaves_nothing(fleet: Fleet, run: str):
    with trainer(fleet, run, "5", "sync", environment="counting") as started:
        assert started.wait(60) == 0
    assert fleet.rollout(f"{run}-2", run)["closed_by"] == "deleted"


def test_sigkill_of_the_trainer_leaves_nothing_after_its_lease(fleet: Fleet, run: str):
    with trainer(fleet, run, "300") as started:
        time.sleep(10)
        assert len(held_by(fleet, run)) == 3
        started.kill()
    eventually(lambda: held_by(fleet, run) == [], "no sandbox is left")


def test_a_child_that_was_forked_leaves_its_parents_rollouts_alone(fleet: Fleet, run: str):
    client = corral.sync.Client(fleet.url, fleet.key, run)
    with corral.sync.Rollout("counting", client=client) as rollout:
        rollout.exec("true")
        child = os.fork()
        if child == 0:
            from corral.leaving import end_all

            end_all()
            os._exit(0)
        os.waitpid(child, 0)
        assert rollout.exec("echo x > calls").exit_code == 0
        assert rollout.grade().score == 1


# As many as a step of a training job opens at once.
MANY = 512


def memory_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def sockets() -> int:
    return sum(
        "socket:" in str(each.readlink()) for each in Path("/proc/self/fd").iterdir() if each.is_symlink()
    )


async def test_a_process_with_many_rollouts_has_a_socket_for_each_call_in_flight_and_eight_more(
    fleet: Fleet, run: str
):
    before, memory = sockets(), memory_mb()
    client = fleet.client(run)
    held = [corral.Rollout("narrow", item={"id": "many"}, client=client) for _ in range(MANY)]
    await asyncio.gather(*(one.open() for one in held))
    assert sockets() - before <= MANY + 8
    calling = [asyncio.create_task(one.exec("echo here")) for one in held]
    most = 0
    while not any(one.done() for one in calling):
        await asyncio.sleep(0.05)
        most = max(most, sockets() - before)
    assert most <= MANY + 8
    # A process that has only imported the client has less than 50.
    assert memory_mb() - memory < 200
    for one in calling:
        one.cancel()
    await asyncio.gather(*calling, return_exceptions=True)
    await asyncio.gather(*(one.finish() for one in held))
    await asyncio.sleep(0.5)
    assert sockets() - before <= 8


def test_without_an_event_loop_it_is_the_same(fleet: Fleet, run: str):
    client = corral.sync.Client(fleet.url, fleet.key, run)
    assert client.prewarm("counting", 1) == 1
    assert client.prewarm("counting", 1, requires={"memory_bytes": 2**20}) == 1
    with pytest.raises(corral.RequirementsUnmet, match="machine"):
        client.prewarm("counting", 1, requires={"memory_bytes": 32 * 1024**4})
    assert "tools" in client.tools("counting")
    with corral.sync.Rollout("counting", client=client) as rollout:
        rollout.write("calls", "x\nx\n")
        assert rollout.read("calls") == b"x\nx\n"
        assert rollout.call("shell", {"command": "wc -l < calls"}).stdout == "2\n"
        fleet.kill_sandbox_of(rollout.rollout_id)
        with pytest.raises(corral.Discarded):
            rollout.grade()
        verdict = rollout.verdict()
        assert (verdict.scorable, verdict.code, verdict.blame) == (False, "sandbox_lost", "infrastructure")
