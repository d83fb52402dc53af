"""Why a first call still waits is logged, and a sandbox that cannot start is an exception with the reason."""

from __future__ import annotations

import asyncio
import logging
import re
import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from fleet import Fleet
from rootfs import busybox_root
from stranger import Say, Stranger, answer, failure, opened, stranger

import corral
from corral import waiting


def client(url: str) -> corral.Client:
    return corral.Client(url, "key", "run")


def place(ahead: int, **failed: Any) -> dict[str, Any]:
    return {"since": "2026-01-01T00:00:00Z", "ahead": ahead, "last_start_failure": failed or None}


def held_while(told: Mapping[str, Any] | None) -> Say:
    """Opens, says this of a waiting rollout, and answers no call."""

    def say(line: str, _number: int) -> bytes | None:
        if "/exec" in line:
            return b""
        return answer(200, {"waiting": told}) if line.startswith("get ") else opened()

    return say


async def found(look: Callable[[], list[str]], count: int) -> list[str]:
    """What `look` finds, as soon as it finds so many."""
    async with asyncio.timeout(30):
        while True:
            seen = look()
            if len(seen) >= count:
                return seen
            await asyncio.sleep(0.01)


async def logged(caplog: pytest.LogCaptureFixture, count: int) -> list[str]:
    """But for openings, which take longer than these quick looks on a busy machine."""
    return await found(lambda: [one for one in caplog.messages if "its opening" not in one], count)


async def looks(one: Stranger, count: int) -> list[str]:
    return await found(lambda: [line for line, _ in one.heard if line.startswith("get ")], count)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(waiting, "LOOK_EVERY_S", 0.05)
    caplog.set_level(logging.WARNING, "corral")


@pytest.mark.parametrize(
    ("told", "text"),
    [
        (place(0), "it is next in line, and no start has failed"),
        (place(7), "7 rollouts stand before it in line"),
        (
            place(0, code="setup_failed", message="exit code 4: no index", count=2, at="x"),
            "the last 2 starts failed alike, with setup_failed: exit code 4: no index",
        ),
        (
            place(0, code="start_timeout", message="slow", count=1, at="x"),
            "the last start failed with start_timeout: slow",
        ),
        (None, None),
        ("a newer fleet's word", None),
    ],
)
def test_the_fleets_answer_becomes_a_reason(told: object, text: str | None):
    reason = waiting.read_reason({"waiting": told})
    assert (reason and reason.text) == text


@pytest.mark.usefixtures("quick")
async def test_rollouts_of_one_task_that_wait_are_asked_for_together_and_a_reason_is_logged_once(
    caplog: pytest.LogCaptureFixture,
):
    told = place(0, code="start_failed", message="no folder /root-7", count=2, at="x")
    async with stranger(held_while(told)) as one:
        rollouts = [corral.Rollout("shell", item={"id": 1}, client=client(one.url)) for _ in range(20)]
        calls = [asyncio.create_task(rollout.exec("true")) for rollout in rollouts]
        asked = await looks(one, 4)
        assert len(set(asked)) == 1
        [message] = await logged(caplog, 1)
        assert message.endswith(": the last 2 starts failed alike, with start_failed: no folder /root-7")
        # A slow machine may look before the second of them waits.
        assert re.match(
            r"rollout r-\w+ of shell has waited for its sandbox for \d s(, and \d+ more of its task)?: ",
            message,
        )
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)


@pytest.mark.usefixtures("quick")
async def test_a_reason_that_stays_is_logged_again_after_a_minute(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(waiting, "REPORT_EVERY_S", 0.2)
    async with stranger(held_while(place(0))) as one:
        call = asyncio.create_task(corral.Rollout("shell", client=client(one.url)).exec("true"))
        assert len({message.partition(": ")[2] for message in await logged(caplog, 3)}) == 1
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)


@pytest.mark.usefixtures("quick")
async def test_each_task_has_its_own_reason(caplog: pytest.LogCaptureFixture):
    def say(line: str, _number: int) -> bytes | None:
        if "/exec" in line:
            return b""
        of = "cat" if "/cats" in line else "dog"
        told = place(0, code="start_failed", message=f"no image {of}", count=1, at="x")
        return answer(200, {"waiting": told}) if line.startswith("get ") else opened()

    async with stranger(say) as one:
        calls = [
            asyncio.create_task(
                corral.Rollout("any", item={"image": of}, rollout_id=of, client=client(one.url)).exec("true")
            )
            for of in ("cats", "dogs")
        ]
        messages = await logged(caplog, 2)
        assert sorted(message[-3:] for message in messages) == ["cat", "dog"]
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)


@pytest.mark.usefixtures("quick")
async def test_a_call_that_runs_is_asked_for_once_and_one_that_waits_again_and_again(
    caplog: pytest.LogCaptureFixture,
):
    def say(line: str, _number: int) -> bytes | None:
        if "/exec" in line:
            return b""
        told = place(3) if "/waits" in line else None
        return answer(200, {"waiting": told}) if line.startswith("get ") else opened()

    async with stranger(say) as one:
        calls = [
            asyncio.create_task(
                corral.Rollout("any", item={"id": of}, rollout_id=of, client=client(one.url)).exec("true")
            )
            for of in ("runs", "waits")
        ]
        asked = await looks(one, 6)
        assert len([line for line in asked if "/runs" in line]) == 1
        [message] = await logged(caplog, 1)
        assert message.startswith("rollout waits of any ")
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)


@pytest.mark.usefixtures("quick")
async def test_a_gateway_that_is_away_is_the_reason(caplog: pytest.LogCaptureFixture):
    async with stranger(held_while(None)) as one:
        gone = one.url
    opening = asyncio.create_task(corral.Rollout("shell", client=client(gone)).open())
    [message] = await logged(caplog, 1)
    assert "the last try failed with gateway_unreachable: POST http://127.0.0.1" in message
    opening.cancel()
    await asyncio.gather(opening, return_exceptions=True)


async def test_a_failure_that_no_repeat_fixes_is_raised_at_once_with_its_reason():
    hopeless = failure("setup_failed", 503, retryable=False, message="3 sandboxes in a row: no index")

    def say(line: str, _number: int) -> bytes | None:
        return hopeless if "/exec" in line else opened()

    async with stranger(say) as one:
        async with corral.Rollout("shell", client=client(one.url)) as rollout:
            with pytest.raises(corral.Unavailable, match="3 sandboxes in a row: no index") as raised:
                await rollout.exec("true")
            assert (raised.value.code, raised.value.rollout_id) == ("setup_failed", rollout.rollout_id)
        assert len(one.bodies("/exec")) == 1
        assert len(one.bodies("/finish")) == 1


async def test_a_failing_prepare_is_logged_with_its_stderr_and_then_raised(
    fleet: Fleet, run: str, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.WARNING, "corral")
    began = time.monotonic()
    async with corral.Rollout("unprepared", client=fleet.client(run)) as rollout:
        call = asyncio.create_task(rollout.exec("true"))
        told_s = 0.0
        while not call.done():
            await asyncio.wait([call], timeout=0.1)
            if "no index" in caplog.text and told_s == 0.0:
                told_s = time.monotonic() - began
        with pytest.raises(
            corral.Unavailable, match=r"sandboxes in a row .* exit code 4: no index"
        ) as raised:
            await call
    print(f"prepare: logged after {told_s:.1f} s, raised after {time.monotonic() - began:.1f} s")
    assert raised.value.code == "setup_failed"
    # By the look after the first failed start: the third one is some seconds later.
    assert told_s > 0.0
    assert re.search(r"failed (alike, )?with setup_failed: .*no index", caplog.text)


async def test_a_missing_root_is_raised_with_its_path_and_the_next_rollout_has_it_once_it_is_there(
    fleet: Fleet, run: str, tmp_path: Path
):
    root = tmp_path / "root"
    item = {"image": f"rootfs:{root}"}
    began = time.monotonic()
    async with corral.Rollout("sandbox", item=item, client=fleet.client(run)) as rollout:
        with pytest.raises(corral.Unavailable, match="is not a folder of this machine") as raised:
            await rollout.exec("true")
    print(f"root: raised after {time.monotonic() - began:.1f} s")
    assert (raised.value.code, str(root) in raised.value.message) == ("start_failed", True)
    root.mkdir()
    busybox_root(root)
    try:
        async with corral.Rollout("sandbox", item=item, client=fleet.client(run)) as rollout:
            assert (await rollout.exec("echo there")).stdout == "there\n"
    finally:
        shutil.rmtree(root, ignore_errors=True)
