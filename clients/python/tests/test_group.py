"""Four rollouts of one task with rewards 1, 3, 2 and one whose sandbox dies: what the trainer's mean becomes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from statistics import mean

import pytest
from fleet import Fleet, eventually

import corral

Play = Callable[[corral.Rollout, int], Awaitable[float]]


async def appends(rollout: corral.Rollout, times: int) -> None:
    for _ in range(times):
        result = await rollout.call("shell", {"command": "echo x >> calls"})
        assert result.exit_code == 0


async def plays(rollout: corral.Rollout, times: int) -> float:
    await appends(rollout, times)
    return (await rollout.grade()).score


async def group(
    fleet: Fleet, run: str, fourth: Play, environment: str = "counting", others: Play = plays
) -> list[float | None]:
    """The rewards as a trainer sees them: a rollout that raised has none."""
    client = fleet.client(run)

    async def play(times: int, how: Play) -> float | None:
        name = f"{run}-{times}"
        async with corral.Rollout(
            environment, item={"id": "task"}, rollout_id=name, client=client
        ) as rollout:
            try:
                return await how(rollout, times)
            except (corral.Discarded, corral.Unavailable):
                return None

    return list(await asyncio.gather(*(play(times, others) for times in (1, 3, 2)), play(4, fourth)))


def expect_one_lost(fleet: Fleet, run: str, rewards: list[float | None]) -> None:
    assert rewards == [1, 3, 2, None]
    assert mean(reward for reward in rewards if reward is not None) == 2.0
    report = fleet.report(run)
    assert {"scored": report["scored"], "discarded": report["discarded"]} == {"scored": 3, "discarded": 1}
    assert report["blame"].get("infrastructure") == 1
    assert [line["mean"] for line in report["groups"]] == [2.0]


async def test_killed_before_its_first_call_it_is_replaced_and_there_are_four_rewards(fleet: Fleet, run: str):
    async def fourth(rollout: corral.Rollout, times: int) -> float:
        await rollout.open()
        name = rollout.rollout_id

        def sandbox() -> str | None:
            epoch = fleet.rollout(name, run)["epoch"]
            return None if epoch is None else epoch["sandbox"]

        first = await asyncio.to_thread(eventually, sandbox, "it has a sandbox")
        await asyncio.to_thread(fleet.kill_sandbox_of, name)
        # A call that is let in before the loss is known counts as one that may have run.
        await asyncio.to_thread(eventually, lambda: sandbox() != first, "its loss is known")
        return await plays(rollout, times)

    assert await group(fleet, run, fourth) == [1, 3, 2, 4]
    assert fleet.report(run)["discarded"] == 0


async def test_killed_in_a_command_the_fourth_is_absent(fleet: Fleet, run: str):
    async def fourth(rollout: corral.Rollout, times: int) -> float:
        await appends(rollout, times)
        running = asyncio.create_task(rollout.exec("touch begun; sleep 60", timeout_s=90))
        await in_flight(fleet, run, rollout.rollout_id)
        fleet.kill_sandbox_of(rollout.rollout_id)
        with pytest.raises(corral.Discarded) as lost:
            await running
        assert (lost.value.code, lost.value.tainted, lost.value.rollout_id) == (
            "sandbox_lost",
            True,
            rollout.rollout_id,
        )
        # A framework that tells the failure to the model and goes on must get no score either.
        return (await rollout.grade()).score

    expect_one_lost(fleet, run, await group(fleet, run, fourth))


async def test_killed_between_its_last_command_and_its_grade_the_fourth_is_absent(fleet: Fleet, run: str):
    async def fourth(rollout: corral.Rollout, times: int) -> float:
        await appends(rollout, times)
        fleet.kill_sandbox_of(rollout.rollout_id)
        return (await rollout.grade()).score

    expect_one_lost(fleet, run, await group(fleet, run, fourth))


async def test_killed_while_it_is_graded_the_fourth_is_absent(fleet: Fleet, run: str):
    async def fourth(rollout: corral.Rollout, times: int) -> float:
        await appends(rollout, times)
        grading = asyncio.create_task(rollout.grade())
        await asyncio.to_thread(
            eventually,
            lambda: fleet.rollout(rollout.rollout_id, run)["state"] == "grading",
            "it is graded",
        )
        await asyncio.sleep(1)
        fleet.kill_sandbox_of(rollout.rollout_id)
        return (await grading).score

    expect_one_lost(fleet, run, await group(fleet, run, fourth, "slow-grader"))


async def test_a_gateway_that_restarts_during_a_command_costs_nothing_and_nothing_runs_twice(
    fleet: Fleet, run: str
):
    async def fourth(rollout: corral.Rollout, times: int) -> float:
        await appends(rollout, times - 1)
        # A grade whose gateway dies is asked for again when the environment's time to grade is over: half an hour.
        done = {"scored": 3}
        await asyncio.to_thread(
            eventually, lambda: fleet.report(run).items() >= done.items(), "the others are scored"
        )
        running = asyncio.create_task(rollout.exec("echo x >> calls; sleep 4; cat calls"))
        await in_flight(fleet, run, rollout.rollout_id)
        killed = fleet.kill_gateway()
        result = await running
        assert result.stdout == "x\n" * times
        await asyncio.to_thread(fleet.await_gateway_after, killed)
        return (await rollout.grade()).score

    assert await group(fleet, run, fourth) == [1, 3, 2, 4]
    assert fleet.report(run)["discarded"] == 0


async def in_flight(fleet: Fleet, run: str, rollout: str) -> None:
    await asyncio.to_thread(
        eventually, lambda: fleet.rollout(rollout, run).get("in_flight") == 1, f"a call of {rollout} runs"
    )


async def test_where_the_trainer_grades_by_itself_its_scores_are_in_the_report_and_the_lost_one_takes_none(
    fleet: Fleet, run: str
):
    async def own(rollout: corral.Rollout, times: int) -> float:
        await appends(rollout, times)
        score = float((await rollout.read("calls")).count(b"\n"))
        await rollout.score(score)
        return score

    async def fourth(rollout: corral.Rollout, times: int) -> float:
        await appends(rollout, times)
        score = float((await rollout.read("calls")).count(b"\n"))
        fleet.kill_sandbox_of(rollout.rollout_id)
        await rollout.score(score)
        return score

    expect_one_lost(fleet, run, await group(fleet, run, fourth, "own-score", own))
