"""Set-up is replayed in the next sandbox, or the rollout has no score; the policy's own calls never are."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from fleet import Fleet, eventually

import corral
from corral import sync


async def lose(fleet: Fleet, run: str, rollout: corral.Rollout) -> None:
    """Returns when its loss is known: a call without the mark that is let in before counts as one that may have run."""
    name = rollout.rollout_id
    first = fleet.rollout(name, run)["epoch"]
    await asyncio.to_thread(fleet.kill_sandbox_of, name)
    await asyncio.to_thread(
        eventually, lambda: fleet.rollout(name, run)["epoch"] != first, "its loss is known"
    )


async def test_a_rollout_that_loses_its_sandbox_in_set_up_goes_on_with_the_same_files(
    fleet: Fleet, run: str, tmp_path: Path
):
    (tmp_path / "line").write_text("x\n")
    async with corral.Rollout("counting", client=fleet.client(run)) as rollout:
        await rollout.upload_dir(tmp_path, "task", setup=True)
        await rollout.write("more", b"x\n\xff\n", setup=True)
        await rollout.exec(["sh", "-c", "cat > calls"], stdin="x\n", setup=True)
        joined = await rollout.call("shell", {"command": "cat task/line more >> calls"}, setup=True)
        assert joined.exit_code == 0
        await lose(fleet, run, rollout)
        assert (await rollout.exec("echo x >> calls")).exit_code == 0
        assert await rollout.read("calls") == b"x\nx\nx\n\xff\nx\n"
        assert (await rollout.grade()).score == 5
    assert fleet.rollout(rollout.rollout_id, run)["heals"] == 1
    assert fleet.report(run)["discarded"] == 0


async def test_set_up_that_is_running_when_its_sandbox_dies_is_lost_with_it(fleet: Fleet, run: str):
    async with corral.Rollout("counting", client=fleet.client(run)) as rollout:
        await rollout.write("calls", "x\n", setup=True)
        running = asyncio.create_task(rollout.exec("sleep 60; echo x >> calls; cat calls", setup=True))
        name = rollout.rollout_id

        def is_running() -> bool:
            # The upload before it may be in flight a moment longer than its answer takes.
            calls = fleet.rollout(name, run).get("calls", [])
            return any((each["tool"], each["state"]) == ("exec", "dispatched") for each in calls)

        await asyncio.to_thread(eventually, is_running, "its set-up runs")
        await asyncio.to_thread(fleet.kill_sandbox_of, name)
        with pytest.raises(corral.Discarded) as lost:
            await running
        assert lost.value.code == "sandbox_lost"
        with pytest.raises(corral.Discarded):
            await rollout.grade()


async def test_a_replay_with_other_output_has_no_score(fleet: Fleet, run: str):
    async with corral.Rollout("counting", client=fleet.client(run)) as rollout:
        await rollout.exec("cat /proc/sys/kernel/random/uuid", setup=True)
        await lose(fleet, run, rollout)
        with pytest.raises(corral.Discarded) as lost:
            await rollout.exec("true")
        assert (lost.value.code, lost.value.failure.blame) == ("sandbox_lost", "infrastructure")
        with pytest.raises(corral.Discarded):
            await rollout.grade()
    assert fleet.report(run)["discarded"] == 1


async def test_after_the_first_call_without_the_mark_a_loss_is_a_loss_and_a_mark_a_mistake(
    fleet: Fleet, run: str
):
    async with corral.Rollout("counting", client=fleet.client(run)) as rollout:
        await rollout.exec("true", setup=True)
        assert rollout.takes_setup
        await rollout.call("shell", {"command": "echo x > calls"})
        assert not rollout.takes_setup
        with pytest.raises(corral.Misuse, match="setup") as late:
            await rollout.exec("rm calls", setup=True, probe=True)
        assert late.value.code == "invalid_request"
        assert await rollout.read("calls") == b"x\n"
        await asyncio.to_thread(fleet.kill_sandbox_of, rollout.rollout_id)
        with pytest.raises(corral.Discarded):
            await rollout.grade()


def test_wrong_arguments_of_set_up_are_the_trainers(fleet: Fleet, run: str):
    with (
        sync.Rollout("counting", client=sync.Client(fleet.url, fleet.key, run)) as rollout,
        pytest.raises(corral.Misuse),
    ):
        rollout.call("shell", {"comand": "true"}, setup=True)
