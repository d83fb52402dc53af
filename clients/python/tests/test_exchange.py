"""What is tried again, and what each answer becomes, beside somebody who answers whatever a test wants."""

from __future__ import annotations

import asyncio
import pickle
import time
from typing import Any

import pytest
from stranger import Say, answer, failure, opened, result, stranger

import corral
from corral.exchange import pause_s


def client(url: str, patience_s: float = 20.0) -> corral.Client:
    return corral.Client(url, "key", "run", patience_s=patience_s)


def always(said: bytes) -> Say:
    return lambda _line, _number: said


def after_open(*said: bytes | None) -> Say:
    """Opens and finishes whatever comes, and says these to the calls, one after the other."""
    left = list(said)

    def say(line: str, _number: int) -> bytes | None:
        if "/exec" in line or "/calls/" in line:
            return left.pop(0)
        return opened()

    return say


@pytest.mark.parametrize(
    "kind", [corral.Discarded, corral.Unavailable, corral.Misuse, corral.Refused, corral.RequirementsUnmet]
)
def test_no_exception_is_one_that_a_framework_tells_to_the_model(kind: type[corral.CorralError]):
    assert issubclass(kind, corral.CorralError)
    assert not issubclass(kind, OSError | TimeoutError | RuntimeError | ValueError | LookupError)


def test_an_exception_survives_the_way_between_processes():
    of = corral.Failure(
        "sandbox_lost", "gone", "infrastructure", "unknown", False, True, {"cause": "evicted"}, "r1"
    )
    back = pickle.loads(pickle.dumps(corral.Discarded(of)))
    assert (type(back), back.failure, str(back)) == (corral.Discarded, of, "sandbox_lost: gone [rollout r1]")


def test_the_fleet_says_when_to_come_again_and_nobody_comes_earlier():
    assert [pause_s(3, 2.0, chance) for chance in (0.0, 1.0)] == [2.0, 2.5]
    assert [pause_s(tries, None, 1.0) for tries in (0, 1, 9)] == [0.2, 0.4, 5.0]
    assert pause_s(5, 0.0, 0.5) == 0.0


async def test_a_call_keeps_its_id_over_resets_refusals_and_proxies():
    troubles = (
        None,
        failure("gateway_overloaded", 503),
        answer(502, b"<html>bad gateway"),
        None,
        answer(504, b""),
    )
    async with stranger(after_open(*troubles, result(stdout="once"))) as one:
        async with corral.Rollout("shell", client=client(one.url)) as rollout:
            assert (await rollout.exec("echo once")).stdout == "once"
        sent = one.bodies("/exec")
        assert len(sent) == 6
        assert len({body["call_id"] for body in sent}) == 1


async def test_long_work_is_attached_to_and_not_sent_again():
    running = answer(202, {"state": "running", "rollout_id": "r", "call_id": "c"})
    async with stranger(after_open(running, running, running, result(stdout="done"))) as one:
        async with corral.Rollout("shell", client=client(one.url)) as rollout:
            assert (await rollout.exec("sleep 900")).stdout == "done"
        lines = [line.partition("?")[0].rpartition("/")[2] for line, _ in one.heard]
        call = one.bodies("/exec")[0]["call_id"]
        assert lines == ["rollouts", "exec", call, call, call, "finish"]


async def test_a_call_that_fleet_state_forgot_is_sent_again_under_its_id():
    forgot = failure("unknown_call", 404, blame="caller", retryable=False)
    running = answer(202, {"state": "running", "rollout_id": "r", "call_id": "c"})
    async with stranger(after_open(running, forgot, result())) as one:
        async with corral.Rollout("shell", client=client(one.url)) as rollout:
            await rollout.exec("sleep 900")
        assert len({body["call_id"] for body in one.bodies("/exec")}) == 1
        assert len(one.bodies("/exec")) == 2


async def test_retry_after_is_obeyed():
    busy = failure("capacity_timeout", 503).replace(b"retry-after: 0", b"retry-after: 1")
    async with (
        stranger(after_open(busy, result())) as one,
        corral.Rollout("shell", client=client(one.url)) as rollout,
    ):
        started = time.monotonic()
        await rollout.exec("true")
        assert time.monotonic() - started >= 1.0


async def test_patience_that_is_over_is_unavailable_and_stays_so_for_the_grade():
    async with stranger(after_open(*[failure("line_full", 503)] * 500)) as one:
        async with corral.Rollout("shell", client=client(one.url, patience_s=0.3)) as rollout:
            with pytest.raises(corral.Unavailable) as over:
                await rollout.exec("true")
            assert (over.value.code, over.value.rollout_id) == ("line_full", rollout.rollout_id)
            # A framework that told it to the model as text goes on, and must get no score.
            with pytest.raises(corral.Unavailable):
                await rollout.grade()
            assert rollout.discarded is not None


async def test_nobody_at_the_address_is_unavailable_and_no_exception_of_httpx():
    async with stranger(after_open()) as one:
        gone = one.url
    with pytest.raises(corral.Unavailable) as away:
        await corral.Client(gone, "key", patience_s=0.5).tools("shell")
    assert (away.value.code, away.value.admitted) == ("gateway_unreachable", "no")


@pytest.mark.parametrize("kind", ["truncated", "no json", "a list", "lies"])
async def test_an_answer_that_cannot_be_read_is_never_a_result(kind: str):
    said = {
        "truncated": b"HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n{",
        "no json": answer(200, b"<html>"),
        "a list": answer(200, []),
        "lies": result(exit_code="0"),
    }[kind]

    def say(line: str, _number: int) -> bytes | None:
        return said if "/exec" in line else opened()

    async with (
        stranger(say) as one,
        corral.Rollout("shell", client=client(one.url, patience_s=0.5)) as rollout,
    ):
        # A truncated answer is waited for until the connection ends: this one's never does.
        with pytest.raises((corral.Unavailable, corral.Discarded, TimeoutError)):
            await asyncio.wait_for(rollout.exec("true"), 3)


async def test_a_stranger_is_a_mistake_at_first_and_an_accident_once_the_gateway_has_answered():
    async with stranger(always(answer(404, b"<html>no such page"))) as one:
        with pytest.raises(corral.Misuse, match="not Corral's"):
            await client(one.url).tools("shell")
    async with stranger(after_open(answer(404, b"<html>no such page"), result())) as one:
        async with corral.Rollout("shell", client=client(one.url)) as rollout:
            assert (await rollout.exec("true")).exit_code == 0


@pytest.mark.parametrize(
    ("code", "status", "also", "kind"),
    [
        ("sandbox_lost", 503, {"tainted": True, "retryable": False}, corral.Discarded),
        ("rollout_expired", 410, {"blame": "caller", "retryable": False}, corral.Discarded),
        ("run_closed", 409, {"blame": "caller", "retryable": False}, corral.Discarded),
        ("unclassified", 500, {"retryable": False}, corral.Discarded),
        ("unauthorized", 401, {"blame": "caller", "retryable": False}, corral.Misuse),
        ("a_newer_one", 503, {"retryable": False}, corral.Discarded),
        ("a_newer_one", 400, {"blame": "caller", "retryable": False}, corral.Misuse),
        ("payload_too_large", 413, {"blame": "caller", "retryable": False}, corral.Refused),
    ],
)
async def test_each_failure_becomes_its_exception(
    code: str, status: int, also: dict[str, Any], kind: type[corral.CorralError]
):
    async with stranger(after_open(failure(code, status, **also))) as one:
        async with corral.Rollout("shell", client=client(one.url)) as rollout:
            with pytest.raises(kind) as raised:
                await rollout.exec("true")
            assert type(raised.value) is kind


async def test_a_run_that_was_stopped_stops_the_job_that_opens_rollouts_in_it():
    stopped = failure("run_closed", 409, blame="caller", retryable=False)
    async with stranger(always(stopped)) as one:
        with pytest.raises(corral.Misuse):
            await corral.Rollout("shell", client=client(one.url)).open()


async def test_who_stops_waiting_for_a_command_stops_the_command():
    cancelled = asyncio.Event()

    def say(line: str, _number: int) -> bytes | None:
        if line.partition("?")[0].endswith("/cancel"):
            cancelled.set()
            return answer(202, {"call_id": "c", "state": "cancelling"})
        return b"" if "/exec" in line else opened()

    async with stranger(say) as one, corral.Rollout("shell", client=client(one.url)) as rollout:
        await rollout.open()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(rollout.exec("sleep 900"), 0.5)
        await asyncio.wait_for(cancelled.wait(), 30)
        assert rollout.discarded is None


async def test_finish_goes_on_when_whoever_waits_for_it_is_cancelled():
    finished = asyncio.Event()

    def say(line: str, _number: int) -> bytes | None:
        if "/finish" in line:
            if len(one.bodies("/finish")) < 3:
                return failure("state_unavailable", 503)
            finished.set()
        return opened()

    async with stranger(say) as one:
        rollout = corral.Rollout("shell", client=client(one.url))
        await rollout.open()
        finishing = asyncio.create_task(rollout.finish())
        await asyncio.sleep(0)
        finishing.cancel()
        await asyncio.wait_for(finished.wait(), 10)
        await rollout.finish()
        with pytest.raises(corral.Discarded):
            await rollout.exec("true")


async def test_a_rollout_that_was_never_used_asks_nobody_anything():
    async with stranger(after_open()) as one:
        async with corral.Rollout("shell", client=client(one.url)):
            pass
        assert one.heard == []


async def test_a_rollout_that_was_refused_is_not_asked_for_again():
    async with stranger(always(failure("unknown_environment", 404, blame="caller", retryable=False))) as one:
        with pytest.raises(corral.Misuse):
            async with corral.Rollout("nothing", client=client(one.url)) as rollout:
                await rollout.exec("true")
        assert len(one.heard) == 1


async def test_many_first_calls_at_once_open_one_rollout():
    async with stranger(after_open(*[result()] * 8)) as one:
        async with corral.Rollout("shell", client=client(one.url)) as rollout:
            await asyncio.gather(*(rollout.exec("true") for _ in range(8)))
        assert len([line for line, _ in one.heard if line.endswith("/rollouts")]) == 1


async def test_a_trainers_deadline_that_runs_out_while_the_machinery_is_away_is_no_slowness_of_the_policy():
    away = failure("gateway_overloaded", 503)
    async with stranger(after_open(*[away] * 20_000, result())) as one:
        async with corral.Rollout("shell", client=client(one.url)) as rollout:
            await rollout.open()
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(rollout.exec("true"), 1)
            # A framework that takes this for the agent's timeout, and goes on to grade, gets no score for it.
            with pytest.raises(corral.Unavailable):
                await rollout.grade()
            assert one.bodies("/grade") == []
