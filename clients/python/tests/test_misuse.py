"""What keeps a rollout from a score: never what the policy can write, and always the job's own mistake."""

from __future__ import annotations

import asyncio
from typing import Any, get_args

import pytest
from fleet import Fleet
from stranger import answer, failure, opened, result, stranger

import corral
from corral.failures import MEANINGS, Of, error_of

# Every code that a call's text, id, path or arguments can cause, with the requests of which.
IN_THE_POLICYS_HANDS = {
    ("payload_too_large", "act"),
    ("payload_too_large", "file"),
    ("payload_too_large", "grade"),
    ("call_conflict", "act"),
    ("answer_expired", "act"),
}


def said(code: str, **evidence: str) -> corral.Failure:
    return corral.Failure(code, "said", "caller", "no", False, False, evidence)


@pytest.mark.parametrize("code", MEANINGS)
def test_a_code_is_refused_exactly_if_the_policy_can_cause_it(code: str):
    refused = {of for of in get_args(Of) if isinstance(error_of(said(code), of), corral.Refused)}
    assert refused == {of for each, of in IN_THE_POLICYS_HANDS if each == code}


def test_of_invalid_requests_those_about_a_file_or_a_user_are_the_policys():
    for of in get_args(Of):
        by_errno = error_of(said("invalid_request", errno="ENOENT"), of)
        by_user = error_of(said("invalid_request", user="root"), of)
        assert isinstance(by_errno, corral.Refused) == (of == "file")
        assert isinstance(by_user, corral.Refused) == (of == "act")


def test_an_answer_that_expired_while_its_call_was_sent_again_was_lost_on_the_way():
    error = error_of(said("answer_expired"), "act", was_sent_before=True)
    assert isinstance(error, corral.Discarded)


@pytest.mark.parametrize("code", ["call_conflict", "answer_expired"])
def test_an_id_that_no_other_call_has_was_not_used_by_the_policy_before(code: str):
    assert not isinstance(error_of(said(code), "act", is_new_id=True), corral.Refused)


@pytest.mark.parametrize(
    "given",
    [
        {"timeout_s": 0.0},
        {"timeout_s": float("nan")},
        {"timeout_s": 1e9},
        {"max_output_bytes": 0},
        {"max_output_bytes": 1 << 40},
        {"call_id": "two words"},
        {"call_id": "x" * 257},
        {"call_id": ""},
        {"call_id": ".."},
        {"user": "admin"},
        {"user": "root"},
        {"command": []},
        {"command": ["true"] * 5000},
        {"cwd": "a\0b"},
        {"env": {"A": "\0"}},
    ],
    ids=lambda given: str(given)[:40],
)
async def test_what_the_policy_can_put_into_a_command_is_refused_and_the_rollout_is_scored(
    fleet: Fleet, run: str, given: dict[str, Any]
):
    async with corral.Rollout("counting", client=fleet.client(run)) as rollout:
        asked: dict[str, Any] = {"command": "true", **given}
        with pytest.raises(corral.Refused) as refused:
            await rollout.exec(**asked)
        assert refused.value.failure.admitted == "no"
        await rollout.exec("echo x > calls")
        assert (await rollout.grade()).score == 1


async def test_a_call_id_that_the_policy_used_before_is_refused_and_the_rollout_is_scored(
    fleet: Fleet, run: str
):
    async with corral.Rollout("counting", client=fleet.client(run)) as rollout:
        await rollout.exec("echo x >> calls", call_id="functions.shell:0")
        with pytest.raises(corral.Refused, match="call_conflict"):
            await rollout.exec("echo y >> calls", call_id="functions.shell:0")
        assert (await rollout.grade()).score == 1


async def test_nan_in_a_sample_is_refused_and_the_rollout_can_still_be_graded(fleet: Fleet, run: str):
    async with corral.Rollout("counting", client=fleet.client(run)) as rollout:
        await rollout.exec("echo x > calls")
        with pytest.raises(corral.Refused):
            await rollout.grade({"arguments": float("nan")})
        assert (await rollout.grade()).score == 1


def expired_key_at(call: int) -> Any:
    """A gateway that does not accept the key at one call, and at no other."""
    expired = failure("unauthorized", 401, blame="caller", retryable=False)
    calls = 0

    def say(line: str, _number: int) -> bytes:
        nonlocal calls
        if "/exec" in line:
            calls += 1
            return expired if calls == call else result()
        if "/grade" in line:
            return answer(200, {"score": 0.0, "detail": {}, "replayed": False})
        return opened()

    return say


async def test_a_key_that_expires_during_one_call_leaves_that_rollout_without_a_score():
    async with stranger(expired_key_at(2)) as one:
        client = corral.Client(one.url, "key", "run")
        async with corral.Rollout("shell", client=client) as rollout:
            await rollout.exec("true")
            with pytest.raises(corral.Misuse, match="unauthorized"):
                await rollout.exec("true")
            assert (await rollout.exec("true")).exit_code == 0
            for score in (rollout.grade(), rollout.score(0.0), rollout.grade()):
                with pytest.raises(corral.Misuse, match="unauthorized"):
                    await score
            assert rollout.discarded is not None
            assert not any("/grade" in line or '"score"' in line for line, _ in one.heard)
        async with corral.Rollout("shell", client=client) as other:
            await other.exec("true")
            assert (await other.grade()).score == 0


async def test_a_call_that_was_not_sent_because_it_is_not_json_leaves_its_rollout_without_a_score():
    async with stranger(lambda line, _number: result() if "/calls" in line else opened()) as one:
        async with corral.Rollout("shell", client=corral.Client(one.url, "key", "run")) as rollout:
            with pytest.raises(corral.Misuse):
                await rollout.call("shell", {"command": object()})
            await rollout.call("shell", {"command": "true"})
            with pytest.raises(corral.Misuse):
                await rollout.grade()


async def test_a_probe_that_is_misuse_leaves_the_grade_as_it_is():
    async with stranger(expired_key_at(1)) as one:
        async with corral.Rollout("shell", client=corral.Client(one.url, "key", "run")) as rollout:
            with pytest.raises(corral.Misuse):
                await rollout.exec("id", probe=True)
            assert rollout.discarded is None
            await rollout.exec("true")
            assert (await rollout.grade()).score == 0


async def test_a_probe_that_lost_its_sandbox_keeps_the_rollout_from_a_score():
    lost = failure("sandbox_lost", 503, tainted=True, retryable=False)

    def say(line: str, _number: int) -> bytes:
        return lost if "/exec" in line else opened()

    async with stranger(say) as one:
        async with corral.Rollout("shell", client=corral.Client(one.url, "key", "run")) as rollout:
            with pytest.raises(corral.Discarded):
                await rollout.exec("id", probe=True)
            with pytest.raises(corral.Discarded):
                await rollout.grade()


async def test_a_probe_next_to_a_call_does_not_take_back_the_calls_mistake():
    expired = failure("unauthorized", 401, blame="caller", retryable=False)

    def say(line: str, _number: int) -> bytes:
        return expired if "/exec" in line else opened()

    async with stranger(say) as one:
        async with corral.Rollout("shell", client=corral.Client(one.url, "key", "run")) as rollout:
            await rollout.open()
            calls = (rollout.exec("true"), rollout.exec("id", probe=True))
            assert len(await asyncio.gather(*calls, return_exceptions=True)) == 2
            with pytest.raises(corral.Misuse):
                await rollout.grade()
