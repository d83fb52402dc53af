"""What a deadline of the trainer's own means for the score: whether it ended before a command began, or while it ran."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from fleet import Fleet, eventually
from stranger import Say, Stranger, answer, failure, opened, stranger

import corral
from corral.giving_up import is_kept_waiting
from corral.results import Cancelled

WAITS = Cancelled(began=False, waiting=True)
RUNS = Cancelled(began=True, waiting=False)


def cancelled(found: Cancelled) -> bytes:
    body = {"call_id": "c", "state": "cancelling", "began": found.began, "waiting": found.waiting}
    return answer(202, body)


def holding(part: str, to_cancel: bytes = b"", state: str = "active") -> Say:
    """Never answers what has this part in its address, and says these to a cancel and a view."""
    graded = answer(200, {"score": 0, "detail": {}, "replayed": False})

    def say(line: str, _number: int) -> bytes | None:
        path = line.partition("?")[0]
        if path.endswith("/cancel"):
            return to_cancel
        if path.endswith(part):
            return b""
        if path.endswith("/grade"):
            return graded
        return opened(state=state)

    return say


def client(one: Stranger) -> corral.Client:
    return corral.Client(one.url, "key", "run", patience_s=0.5)


Give = Callable[[corral.Rollout], Awaitable[object]]


async def give_up(one: Stranger, rollout: corral.Rollout, give: Give, part: str) -> None:
    """By a deadline that ends while the request is held."""
    task = asyncio.ensure_future(give(rollout))
    while not any(part in line for line, _ in one.heard):
        assert not task.done(), await task
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def run(rollout: corral.Rollout) -> None:
    await rollout.exec("sleep 900")


async def write(rollout: corral.Rollout) -> None:
    await rollout.write("notes", b"1")


async def is_graded(one: Stranger, rollout: corral.Rollout) -> bool:
    try:
        await rollout.grade()
    except corral.Lost:
        assert rollout.discarded is not None
        assert one.bodies("/grade") == []
        return False
    return True


@pytest.mark.parametrize(
    ("to_cancel", "graded"),
    [
        (cancelled(WAITS), False),
        (cancelled(RUNS), True),
        # The fleet had only just got it: no way out of a low score for a policy that calls without a pause.
        (cancelled(Cancelled(began=False, waiting=False)), True),
        # Of a gateway of the previous version.
        (answer(202, {"call_id": "c", "state": "cancelling"}), True),
        (failure("unknown_call", 404, blame="caller", retryable=False), False),
        # It is unknown: the gateway is away, which is the infrastructure's; or the sandbox, which its policy may have starved.
        (failure("state_unavailable", 503), False),
        (failure("sandboxd_unreachable", 503, admitted="yes"), True),
        (failure("rollout_unknown", 404, retryable=False), False),
    ],
)
async def test_a_command_that_never_began_bars_the_score_and_one_that_ran_does_not(
    to_cancel: bytes, graded: bool
):
    async with (
        stranger(holding("/exec", to_cancel)) as one,
        corral.Rollout("shell", client=client(one)) as rollout,
    ):
        await give_up(one, rollout, run, "/exec")
        assert await is_graded(one, rollout) == graded


def test_a_call_that_its_sandbox_was_kept_from_for_a_second_was_not_slow_by_itself():
    sent = Cancelled(began=False, waiting=False)
    assert [is_kept_waiting(sent, waited_s) for waited_s in (0.02, 0.99, 1.0)] == [False, False, True]
    assert is_kept_waiting(WAITS, 0.02)
    assert not is_kept_waiting(RUNS, 900.0)


async def test_later_requests_wait_until_it_is_known_whether_the_command_had_begun():
    asked = asyncio.Event()

    def say(line: str, _number: int) -> bytes | None:
        path = line.partition("?")[0]
        if path.endswith("/cancel"):
            asked.set()
            return cancelled(WAITS)
        if "/exec" in path:
            return b""
        return opened()

    async with stranger(say) as one, corral.Rollout("shell", client=client(one)) as rollout:
        await give_up(one, rollout, run, "/exec")
        with pytest.raises(corral.Unavailable) as raised:
            await rollout.write("answer", b"42")
        assert (raised.value.code, raised.value.rollout_id) == ("never_began", rollout.rollout_id)
        assert asked.is_set()
        assert one.bodies("/files") == []


@pytest.mark.parametrize(("state", "graded"), [("waiting", False), ("claimed", False), ("active", True)])
async def test_a_file_that_waits_for_its_sandbox_bars_the_score_too(state: str, graded: bool):
    async with (
        stranger(holding("/files/notes", state=state)) as one,
        corral.Rollout("shell", client=client(one)) as rollout,
    ):
        await give_up(one, rollout, write, "/files/notes")
        assert await is_graded(one, rollout) == graded


async def test_a_rollout_that_was_not_even_opened_has_run_nothing():
    async with (
        stranger(holding("/rollouts")) as one,
        corral.Rollout("shell", client=client(one)) as rollout,
    ):
        await give_up(one, rollout, run, "/rollouts")
        assert not await is_graded(one, rollout)


async def test_a_deadline_that_ends_in_line_is_no_low_score_and_its_command_never_runs(
    fleet: Fleet, run: str
):
    client = fleet.client(run)
    async with corral.Rollout("narrow", client=client) as holder:
        await holder.exec("true")
        async with corral.Rollout("narrow", item={"id": "t", "answer": "42"}, client=client) as rollout:
            await rollout.open()
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(rollout.exec("echo 42 > answer"), 2)
            with pytest.raises(corral.Unavailable) as raised:
                await rollout.grade({"output_text": "no"})
            assert raised.value.code == "never_began"
            [call] = fleet.rollout(rollout.rollout_id, run)["calls"]
            assert (call["outcome"], call["admitted"]) == ("cancelled", "no")


async def test_a_deadline_that_ends_while_the_command_runs_is_the_policys_own(fleet: Fleet, run: str):
    async with corral.Rollout(
        "narrow", item={"id": "t", "answer": "42"}, client=fleet.client(run)
    ) as rollout:
        call = asyncio.ensure_future(rollout.exec("sleep 300", timeout_s=600))
        await asyncio.to_thread(eventually, lambda: _in_flight(fleet, rollout, run) == 1, "it runs")
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert (await rollout.grade({"output_text": "no"})).score == 0
        assert not rollout.discarded


def _in_flight(fleet: Fleet, rollout: corral.Rollout, run: str) -> object:
    return fleet.rollout(rollout.rollout_id, run).get("in_flight")
