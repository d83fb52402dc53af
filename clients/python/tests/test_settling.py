"""How a process waits for a task's standing, with a gateway that answers what a test wants."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from stranger import Say, answer, failure, stranger

import corral
from corral import settling
from corral.settling import Played, settle_standing
from corral.standing import TaskKey


def key(url: str) -> TaskKey:
    return TaskKey(corral.Client(url, "key", "run", patience_s=5), "tasks", "0" * 64)


def standing(state: str, **also: Any) -> bytes:
    return answer(200, {"standing": state, "lease_s": 60, **also})


def says(*states: str) -> Say:
    """These standings to those who ask, the last one again and again; any record is taken."""
    left = list(states)

    def say(line: str, _number: int) -> bytes:
        if line.startswith("put"):
            return standing("proven")
        return standing(left.pop(0) if len(left) > 1 else left[0])

    return say


class Player:
    """Plays controls when the test lets it."""

    def __init__(self, *outcomes: Played) -> None:
        self.outcomes = list(outcomes)
        self.began, self.goes_on = asyncio.Event(), asyncio.Event()
        self.count = 0

    async def __call__(self) -> Played:
        self.count += 1
        self.began.set()
        await self.goes_on.wait()
        return self.outcomes.pop(0)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settling, "RENEW_S", 0.05)
    monkeypatch.setattr(settling, "ASK_AGAIN_S", 0.01)


async def test_all_waiters_of_a_process_share_one_run_of_the_controls_and_its_result():
    player = Player(Played("proven", solution_verifier_took_s=1.5))

    def say(_line: str, number: int) -> bytes:
        # Three renewals of the lease: it is held for as long as the controls run.
        if number == 4:
            player.goes_on.set()
        return standing("play")

    async with stranger(say) as gateway:
        waiting = [asyncio.create_task(settle_standing(key(gateway.url), player)) for _ in range(10)]
        assert {played.outcome for played in await asyncio.gather(*waiting)} == {"proven"}
    *asked, recorded = gateway.bodies("/v1/controls")
    assert (player.count, len({body["holder"] for body in [*asked, recorded]})) == (1, 1)
    assert (recorded["outcome"], recorded["solution_verifier_took_s"]) == ("proven", 1.5)


async def test_a_waiter_that_is_cancelled_leaves_the_controls_running_for_the_others():
    async with stranger(says("play")) as gateway:
        player = Player(Played("proven"))
        first, second = (asyncio.create_task(settle_standing(key(gateway.url), player)) for _ in range(2))
        await player.began.wait()
        first.cancel()
        player.goes_on.set()
        assert (await second).outcome == "proven"
        assert first.cancelled()


async def test_what_another_process_plays_is_waited_for_and_not_played():
    async with stranger(says("wait", "wait", "refused")) as gateway:
        player = Player()
        assert (await settle_standing(key(gateway.url), player)).outcome == "refused"
    assert (player.count, [line for line, _ in gateway.heard if line.startswith("put")]) == (0, [])


async def test_a_lease_that_another_process_took_over_stops_the_own_controls():
    async with stranger(says("play", "wait", "wait", "proven")) as gateway:
        player = Player()
        assert (await settle_standing(key(gateway.url), player)).outcome == "proven"
    assert [line for line, _ in gateway.heard if line.startswith("put")] == []


async def test_controls_that_showed_nothing_are_played_by_the_next_that_asks():
    async with stranger(says("play")) as gateway:
        player = Player(Played("inconclusive", "lost"), Played("unproven"))
        player.goes_on.set()
        outcomes = [(await settle_standing(key(gateway.url), player)).outcome for _ in range(2)]
    assert outcomes == ["inconclusive", "unproven"]


async def test_a_record_that_the_fleet_does_not_take_changes_nothing_for_who_played():
    def say(line: str, _number: int) -> bytes:
        refused = failure("invalid_request", 400, blame="caller", retryable=False)
        return refused if line.startswith("put") else standing("play")

    async with stranger(say) as gateway:
        player = Player(Played("proven"))
        player.goes_on.set()
        assert (await settle_standing(key(gateway.url), player)).outcome == "proven"


async def test_a_gateway_that_is_away_is_an_error_of_each_waiter():
    async with stranger(lambda _line, _number: failure("state_unavailable", 503)) as gateway:
        waiting = [settle_standing(key(gateway.url), Player()) for _ in range(2)]
        found = await asyncio.gather(*waiting, return_exceptions=True)
    assert [type(each) for each in found] == [corral.Unavailable] * 2
