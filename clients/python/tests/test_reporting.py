"""What a trainer hears while something is tried again, and what it can ask before it opens a rollout."""

from __future__ import annotations

import asyncio
import logging
import time
import tomllib
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from fleet import Fleet
from stranger import answer, failure, opened, result, stranger

import corral
from corral import exchange, leaving
from corral.results import Limits


@pytest.mark.parametrize("kind", [corral.Discarded, corral.Unavailable])
def test_one_base_class_has_what_a_trainer_leaves_out_of_a_group(kind: type[corral.CorralError]):
    assert issubclass(kind, corral.Lost)
    assert not any(issubclass(each, corral.Lost) for each in (corral.Misuse, corral.Refused))


def test_the_version_is_one_place_and_no_other():
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())
    assert project["project"]["dynamic"] == ["version"]
    assert corral.__version__.count(".") == 2


async def test_each_request_names_the_client_and_its_version():
    async with stranger(lambda _line, _number: opened()) as one:
        await corral.Rollout("shell", client=corral.Client(one.url, "key", "run")).open()
        assert f"user-agent: corral-python/{corral.__version__}" in one.heads[0]


async def test_a_gateway_that_was_never_reached_is_given_up_within_seconds(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(exchange, "FIRST_CONTACT_S", 0.5)
    async with stranger(lambda _line, _number: None) as one:
        gone = one.url
    began = time.monotonic()
    with pytest.raises(corral.Unavailable, match="gateway_unreachable"):
        await corral.Client(gone, "key", patience_s=900).tools("shell")
    assert time.monotonic() - began < 60


async def test_a_gateway_that_answered_before_is_waited_for(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(exchange, "FIRST_CONTACT_S", 0.0)
    troubles = [None, None, None]

    def say(line: str, _number: int) -> bytes | None:
        if "/exec" in line:
            return troubles.pop() if troubles else result()
        return opened()

    async with stranger(say) as one:
        async with corral.Rollout("shell", client=corral.Client(one.url, "key", "run")) as rollout:
            assert (await rollout.exec("true")).exit_code == 0


async def test_a_failure_that_is_tried_again_is_logged_once_for_all_rollouts(
    caplog: pytest.LogCaptureFixture,
):
    caplog.set_level(logging.WARNING, "corral")
    left = [failure("gateway_overloaded", 503)] * 40

    def say(line: str, number: int) -> bytes:
        return (
            left.pop()
            if left and "/exec" in line and number > 8
            else result()
            if "/exec" in line
            else opened()
        )

    async with stranger(say) as one:
        client = corral.Client(one.url, "key", "run")
        rollouts = [corral.Rollout("shell", client=client) for _ in range(4)]
        for rollout in rollouts:
            await rollout.exec("true")
        await asyncio.gather(*(rollout.exec("true") for rollout in rollouts))
        await asyncio.gather(*(rollout.finish() for rollout in rollouts))
    [line] = [each for each in caplog.messages if "is tried again" in each]
    assert "gateway_overloaded: said" in line


async def test_finish_is_over_when_the_clients_patience_is():
    async with stranger(lambda line, _: failure("recovering", 503) if "/finish" in line else opened()) as one:
        rollout = corral.Rollout("shell", client=corral.Client(one.url, "key", "run", patience_s=0.5))
        await rollout.open()
        # It would be 30 s, and the end of the process tries once more.
        await asyncio.wait_for(rollout.finish(), 20)


async def test_the_limits_of_an_environment_are_there_before_anything_is_opened(fleet: Fleet, run: str):
    client = fleet.client(run)
    folders = ("/logs", "/tests", "/solution")
    assert await client.limits("harbor") == Limits("user", folders, 3600.0, 65_536)
    assert (await client.limits("rooted")).run_as == "root"
    async with stranger(lambda _line, _number: answer(200, {"tools": []})) as older:
        with pytest.raises(corral.Misuse, match="older"):
            await corral.Client(older.url, "key").limits("shell")


async def test_why_a_command_never_began_is_on_its_stderr(fleet: Fleet, run: str):
    async with corral.Rollout("counting", client=fleet.client(run)) as rollout:
        nowhere = await rollout.exec("true", cwd="/nowhere")
        assert (nowhere.outcome, "/nowhere" in nowhere.stderr) == ("refused", True)


async def _plays() -> None:
    async with corral.Rollout("shell", client=corral.Client("http://127.0.0.1:1", "key")) as rollout:
        await rollout.exec("true")


async def _asks() -> None:
    await corral.Client("http://127.0.0.1:1", "key").tools("shell")


@pytest.mark.parametrize("use", [_plays, _asks])
def test_without_a_loop_of_asyncio_the_client_says_what_to_use_instead(
    use: Callable[[], Coroutine[Any, Any, None]],
):
    before = set(leaving._held)  # pyright: ignore[reportPrivateUsage]
    with pytest.raises(corral.Misuse, match=r"corral\.sync"):
        use().send(None)
    # Nothing was sent, so the end of the process has nothing to delete.
    assert set(leaving._held) == before  # pyright: ignore[reportPrivateUsage]
