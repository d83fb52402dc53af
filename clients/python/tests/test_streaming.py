"""A command that is followed while it runs: its output as it comes, its stdin in pieces, and an end that is always said."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import threading
from base64 import b64encode
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from fleet import Fleet
from stranger import Stranger, answer, failure, opened, result, stranger

import corral
from corral import sending, streaming, sync

MEBIBYTE = 1024 * 1024


async def read(run: corral.Running, stream: str = "stdout") -> bytes:
    """All that comes of a stream, which is without a hole."""
    data = b""
    async for piece in run:
        assert isinstance(piece, corral.Output)
        if piece.stream == stream:
            assert piece.at == len(data)
            data += piece.data
    return data


async def read_from(run: corral.Running, at: int) -> bytes:
    """The rest, from this byte on."""
    data = b""
    async for piece in run:
        assert isinstance(piece, corral.Output)
        assert piece.at == at + len(data)
        data += piece.data
    return data


async def test_output_comes_while_the_command_runs_and_stdin_is_answered(fleet: Fleet, run: str):
    async with corral.Rollout("counting", client=fleet.client(run)) as rollout:
        echo = "while read line; do echo x >> calls; echo got $line; done; echo bye >&2; exit 3"
        async with rollout.stream(echo, open_stdin=True) as running:
            for word in ("one", "two"):
                assert await running.write(f"{word}\n")
                piece = await anext(running)
                assert isinstance(piece, corral.Output)
                assert piece.data == f"got {word}\n".encode()
            await running.end_stdin()
            assert await read(running, "stderr") == b"bye\n"
            ended = await running.result()
        assert (ended.exit_code, ended.stdout, ended.stdout_bytes) == (
            3,
            "got one\ngot two\n",
            b"got one\ngot two\n",
        )
        assert (await rollout.grade()).score == 2


async def test_bytes_come_as_they_are_and_merged_in_the_order_of_writing(fleet: Fleet, run: str):
    async with corral.Rollout("counting", client=fleet.client(run)) as rollout:
        every = bytes(range(256))
        assert await read(rollout.stream("cat", stdin=every)) == every
        both = rollout.stream("echo out; echo err >&2; echo out", merge=True)
        assert await read(both) == b"out\nerr\nout\n"


async def test_a_stream_goes_on_where_it_was_while_its_gateway_is_killed_and_the_command_runs_once(
    fleet: Fleet, run: str
):
    async with corral.Rollout("counting", client=fleet.client(run)) as rollout:
        running = rollout.stream("echo x >> calls; for i in 1 2 3; do echo $i; read _; done", open_stdin=True)
        assert (await anext(running)).at == 0
        killed = fleet.kill_gateway()
        await running.write("\n")
        assert await anext(running) == corral.Output("stdout", 2, b"2\n")
        await running.write("\n\n")
        fleet.await_gateway_after(killed)
        async for _ in running:
            pass
        assert (await running.result()).stdout == "1\n2\n3\n"
        assert (await rollout.grade()).score == 1


async def test_a_terminal_is_followed_while_its_gateway_is_killed_to_the_end_of_its_program(
    fleet: Fleet, run: str
):
    item = {"answer": "right"}
    async with corral.Rollout("debugging", item=item, client=fleet.client(run)) as rollout:

        async def type_in(text: str) -> corral.CallResult:
            return await rollout.call(
                "terminal_send", {"terminal": 1, "text": text, "wait_for": text.strip()}
            )

        command = "echo before; stty -echo; while read line && [ $line != end ]; do echo got $line; done"
        await rollout.call("terminal_open", {"command": command, "wait_for": "before"})
        async with rollout.follow_terminal(1) as running:
            assert await anext(running) == corral.Output("stdout", 0, b"before\r\n")
            killed = fleet.kill_gateway()
            fleet.await_gateway_after(killed)
            await type_in("one\n")
            assert await anext(running) == corral.Output("stdout", 8, b"got one\r\n")
            await rollout.call("terminal_send", {"terminal": 1, "text": "end\n"})
            assert await read_from(running, 17) == b""
            ended = await running.result()
        assert (ended.outcome, ended.exit_code, ended.stdout) == ("completed", 0, "before\r\ngot one\r\n")
        missing = rollout.follow_terminal(7)
        assert (await missing.result()).stderr == "Error: there is no terminal 7; open: 1\n"
        assert (await rollout.grade({"output_text": "right"})).score == 1


async def test_a_terminal_of_an_environment_without_any_is_a_mistake_of_the_job(fleet: Fleet, run: str):
    async with corral.Rollout("counting", client=fleet.client(run)) as rollout:
        with pytest.raises(corral.Misuse, match=r"sessions: \[terminal\]"):
            await rollout.follow_terminal(1).start()


async def test_a_stream_that_is_longer_than_a_request_goes_on(fleet: Fleet, run: str):
    async with corral.Rollout("counting", client=fleet.client(run, hold_s=1)) as rollout:
        ticking = rollout.stream("for i in 1 2 3 4 5 6; do echo $i; sleep 0.5; done")
        assert await read(ticking) == b"1\n2\n3\n4\n5\n6\n"


async def test_a_reader_that_comes_too_late_learns_how_much_is_missing(fleet: Fleet, run: str):
    async with corral.Rollout("counting", client=fleet.client(run)) as rollout:
        running = rollout.stream(
            f"printf first; head -c {8 * MEBIBYTE} /dev/zero; printf last", max_output_bytes=1000
        )
        await running.result()
        pieces = [piece async for piece in running]
        total = 8 * MEBIBYTE + 9
        assert pieces[1] == corral.Gap("stdout", 500, total - 1000)
        assert [(piece.at, piece.end) for piece in pieces] == [
            (0, 500),
            (500, total - 500),
            (total - 500, total),
        ]
        assert isinstance(pieces[2], corral.Output)
        assert pieces[2].data.endswith(b"last")


async def test_ten_mebibytes_come_whole_in_both_directions(fleet: Fleet, run: str):
    async with corral.Rollout("counting", client=fleet.client(run)) as rollout:
        sent = os.urandom(10 * MEBIBYTE)
        running = rollout.stream("cat", open_stdin=True, max_output_bytes=10 * MEBIBYTE)

        async def give() -> None:
            assert await running.write(sent)
            await running.end_stdin()

        received, _ = await asyncio.gather(read(running), give())
        assert hashlib.sha256(received).digest() == hashlib.sha256(sent).digest()


async def test_stdin_that_a_command_does_not_read_waits_and_one_that_closed_it_says_so(
    fleet: Fleet, run: str
):
    async with corral.Rollout("counting", client=fleet.client(run)) as rollout:
        closed = rollout.stream("exec 0<&-; echo closed; sleep 30", open_stdin=True)
        await anext(closed)
        while await closed.write("x"):
            pass
        assert not await closed.write("more")
        waits = rollout.stream("sleep 2; sha256sum", open_stdin=True)
        sent = os.urandom(4 * MEBIBYTE)
        assert await waits.write(sent)
        await waits.end_stdin()
        assert (await read(waits)).split()[0].decode() == hashlib.sha256(sent).hexdigest()
        assert not rollout.discarded


async def test_leaving_before_the_end_stops_the_command(fleet: Fleet, run: str):
    async with corral.Rollout("counting", client=fleet.client(run)) as rollout:
        async with rollout.stream("echo begun; sleep 60; echo x >> calls", timeout_s=90) as running:
            await anext(running)
        assert (await running.result()).outcome == "cancelled"
        assert not rollout.discarded


async def test_a_lost_sandbox_is_raised_by_the_stream_and_by_everything_after_it(fleet: Fleet, run: str):
    async with corral.Rollout("counting", client=fleet.client(run)) as rollout:
        running = rollout.stream("echo begun; sleep 60", timeout_s=90)
        await anext(running)
        fleet.kill_sandbox_of(rollout.rollout_id)
        with pytest.raises(corral.Discarded, match="sandbox_lost"):
            await read(running)
        with pytest.raises(corral.Discarded):
            await rollout.grade()


async def test_what_the_policy_did_is_an_end_and_no_exception(fleet: Fleet, run: str):
    async with corral.Rollout("counting", client=fleet.client(run)) as rollout:
        slow = rollout.stream("echo y; sleep 60", timeout_s=1)
        assert await read(slow) == b"y\n"
        assert (await slow.result()).timed_out
        assert await read(rollout.stream(["no-such-program"]), "stderr") != b""
        nowhere = rollout.stream("true", cwd="/nowhere")
        assert await read(nowhere) == b""
        assert "/nowhere" in (await nowhere.result()).stderr
        with pytest.raises(corral.Refused):
            rollout.stream("echo \0")
        assert not rollout.discarded


def test_a_program_without_an_event_loop_follows_a_command_too(fleet: Fleet, run: str):
    with sync.Rollout("counting", client=sync.Client(fleet.url, fleet.key, run)) as rollout:
        with rollout.stream("while read line; do echo got $line; done", open_stdin=True) as running:
            assert running.write("one\n")
            assert next(running) == corral.Output("stdout", 0, b"got one\n")
            # From another thread, while this one waits for output.
            threading.Thread(target=lambda: (running.write("two\n"), running.end_stdin())).start()
            assert (
                b"".join(piece.data for piece in running if isinstance(piece, corral.Output)) == b"got two\n"
            )
            assert running.result().exit_code == 0
        with rollout.stream("sleep 60") as left:
            left.start()
        assert left.result().outcome == "cancelled"


# The time of a request was over before it could begin.
LATE = answer(202, {"state": "running", "rollout_id": "r", "call_id": "c"})
RUNNING = answer(202, {"state": "running", "rollout_id": "r", "call_id": "c", "sent": True})
GRADED = answer(200, {"score": 0, "detail": {}, "replayed": False})


def event(name: str, data: Any, number: str = "0-0") -> bytes:
    return f"id: {number}\nevent: {name}\ndata: {json.dumps(data)}\n\n".encode()


def output(at: int, data: bytes) -> bytes:
    told = {"stream": "stdout", "at": at, "base64": b64encode(data).decode()}
    return event("output", told, f"{at + len(data)}-0")


END = event("end", json.loads(result().partition(b"\r\n\r\n")[2]))
PING = b": waiting\n\n"


def streamed(*events: bytes, is_whole: bool = True) -> bytes:
    """Without its end where it is not whole: as a connection that broke."""
    content = b"".join(events)
    length = len(content) if is_whole else len(content) + 10
    return (
        f"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {length}\r\n\r\n".encode()
        + content
    )


def following(*connections: bytes | None) -> Any:
    """Opens, starts, and gives these to those who follow, one after the other."""
    left = list(connections)

    def say(line: str, _number: int) -> bytes | None:
        if "/stream" in line:
            return left.pop(0)
        return RUNNING if "/exec" in line else opened()

    return say


def offsets(one: Stranger) -> list[str]:
    return [line.partition("offset=")[2].partition("&")[0] for line, _ in one.heard if "/stream" in line]


@pytest.mark.parametrize(
    "broken",
    [
        streamed(output(0, b"one"), PING),
        streamed(output(0, b"one"), is_whole=False),
        streamed(output(0, b"one"), b"event: output\ndata: no JSON\n\n"),
        streamed(output(0, b"one"), event("output", {"stream": "stdout", "at": 3, "base64": "no base64"})),
        streamed(output(0, b"one"), event("output", {"stream": "stdin", "at": 3, "base64": ""})),
        streamed(output(0, b"one"), event("end", {"exit_code": 0})),
        streamed(output(0, b"one"), event("error", {"error": "what"})),
        streamed(
            output(0, b"one"),
            event("error", json.loads(failure("recovering", 503).partition(b"\r\n\r\n")[2])),
        ),
    ],
)
async def test_a_stream_without_its_last_word_is_no_end_and_goes_on_where_it_broke(
    broken: bytes, monkeypatch: pytest.MonkeyPatch
):
    # One of them says nothing more and does not hang up.
    monkeypatch.setattr(streaming, "STREAM_SILENT_S", 0.5)
    connections = [broken, None, failure("gateway_overloaded", 503), streamed(PING, output(3, b"two"), END)]
    async with stranger(following(*connections)) as one:
        rollout = corral.Rollout("shell", client=corral.Client(one.url, "key", "run"))
        assert await read(rollout.stream("make")) == b"onetwo"
        assert offsets(one) == ["0-0", "3-0", "3-0", "3-0"]
        assert len(one.bodies("/exec")) == 1
        assert not rollout.discarded


async def test_a_stream_that_never_ends_is_raised_after_the_patience_and_there_is_no_score():
    def say(line: str, _number: int) -> bytes:
        if "/stream" in line:
            return streamed(PING)
        return RUNNING if "/exec" in line else opened()

    async with stranger(say) as one:
        rollout = corral.Rollout("shell", client=corral.Client(one.url, "key", "run", patience_s=0.5))
        with pytest.raises(corral.Unavailable, match="the stream ended before the command did"):
            await read(rollout.stream("make"))
        with pytest.raises(corral.Unavailable):
            await rollout.grade()


async def test_a_call_that_fleet_state_forgot_is_sent_again_under_its_id():
    unknown = failure("unknown_call", 404, blame="caller", retryable=False)
    connections = [unknown, streamed(output(0, b"one"), END)]
    async with stranger(following(*connections)) as one:
        rollout = corral.Rollout("shell", client=corral.Client(one.url, "key", "run"))
        assert await read(rollout.stream("make")) == b"one"
        sent = [body["call_id"] for body in one.bodies("/exec")]
        assert (len(sent), len(set(sent))) == (2, 1)


async def test_a_reader_that_gives_up_waiting_loses_nothing(fleet: Fleet, run: str):
    async with corral.Rollout("counting", client=fleet.client(run)) as rollout:
        running = rollout.stream("read _; echo one; read _; echo two", open_stdin=True)
        await running.start()
        for expected in (b"one\n", b"two\n"):
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(anext(running), 0.3)
            await running.write("\n")
            piece = await anext(running)
            assert isinstance(piece, corral.Output)
            assert piece.data == expected
        async for _ in running:
            pass
        assert not rollout.discarded


async def test_a_deadline_of_the_trainer_while_the_gateway_is_away_leaves_no_score():
    async with stranger(following(*[None] * 50)) as one:
        rollout = corral.Rollout("shell", client=corral.Client(one.url, "key", "run"))
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(read(rollout.stream("make")), 1)
        with pytest.raises(corral.Unavailable):
            await rollout.grade()


async def test_a_piece_of_stdin_that_was_taken_in_part_is_sent_from_there():
    replies = [None, *({"received": count, "open": True} for count in (2, 2, 4))]

    def say(line: str, _number: int) -> bytes | None:
        if "/stdin" in line:
            reply = replies.pop(0)
            return answer(200, reply) if reply else None
        return RUNNING if "/exec" in line else opened()

    async with stranger(say) as one:
        rollout = corral.Rollout("shell", client=corral.Client(one.url, "key", "run"))
        assert await rollout.stream("cat", open_stdin=True).write("abcd")
        assert one.bodies("/stdin") == [b"abcd", b"abcd", b"cd", b"cd"]


async def cancel_when(look: Callable[[], bool], task: asyncio.Task[Any]) -> None:
    """By a deadline of the trainer's that ends then."""
    while not look():
        assert not task.done(), await task
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


class Stdin:
    """The stdin of a command, as a fleet takes it: at an offset, once. The answers of these requests are never sent."""

    def __init__(self, silent_at: int = 0, takes_silently: bool = True) -> None:
        self.data = b""
        self.asked = 0
        self.is_ended = False
        self.heard: list[tuple[str, Any]] = []
        self._silent_at, self._takes_silently = silent_at, takes_silently

    def say(self, line: str, _number: int) -> bytes:
        if "/stdin" not in line:
            return RUNNING if "/exec" in line else opened()
        self.asked += 1
        is_silent = self.asked == self._silent_at
        if not is_silent or self._takes_silently:
            offset = int(line.partition("offset=")[2].partition("&")[0])
            sent: bytes = self.heard[-1][1] or b""
            assert offset <= len(self.data), "a hole"
            self.data += sent[len(self.data) - offset :]
            self.is_ended = self.is_ended or "end=true" in line
        reply = {"received": len(self.data), "open": not self.is_ended}
        return b"" if is_silent else answer(200, reply)


@pytest.mark.parametrize("was_taken", [False, True])
async def test_a_write_that_is_cancelled_is_neither_lost_nor_given_twice(was_taken: bool):
    stdin = Stdin(silent_at=2, takes_silently=was_taken)
    async with stranger(stdin.say) as one:
        stdin.heard = one.heard
        rollout = corral.Rollout("shell", client=corral.Client(one.url, "key", "run"))
        running = rollout.stream("cat", open_stdin=True)
        assert await running.write("one ")
        stopped = asyncio.ensure_future(running.write("two " * 100_000))
        await cancel_when(lambda: stdin.asked == 2, stopped)
        assert await running.write("three")
        await running.end_stdin()
        assert stdin.data == b"one " + b"two " * 100_000 + b"three"
        assert stdin.is_ended
        assert not rollout.discarded


async def test_writes_at_once_are_given_once_and_in_their_order():
    stdin = Stdin()
    async with stranger(stdin.say) as one:
        stdin.heard = one.heard
        rollout = corral.Rollout("shell", client=corral.Client(one.url, "key", "run"))
        running = rollout.stream("sort", open_stdin=True)
        parts = [f"{number}\n" * 1000 for number in range(20)]
        taken = await asyncio.gather(*(running.write(part) for part in parts))
        assert taken == [True] * 20
        taken = await asyncio.gather(running.write("last"), running.end_stdin())
        assert taken[0]
        assert stdin.data.decode() == "".join(parts) + "last"
        assert stdin.is_ended
        assert not await running.write("more")


async def test_a_trouble_that_is_over_does_not_bar_a_command_that_prints_nothing(
    monkeypatch: pytest.MonkeyPatch,
):
    connected = asyncio.Event()

    class Noted(streaming.Events):
        async def next(self) -> Any:
            connected.set()
            return await super().next()

    monkeypatch.setattr(streaming, "Events", Noted)
    graded = answer(200, {"score": 0, "detail": {}, "replayed": False})
    connections = following(None, failure("recovering", 503), streamed(PING, is_whole=False))

    def say(line: str, number: int) -> bytes | None:
        return graded if "/grade" in line else connections(line, number)

    async with stranger(say) as one:
        rollout = corral.Rollout("shell", client=corral.Client(one.url, "key", "run"))
        waiting = asyncio.ensure_future(anext(rollout.stream("sleep 3000")))
        await connected.wait()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert (await rollout.grade()).score == 0


async def test_a_stream_that_shows_signs_of_life_and_is_cut_each_time_does_not_use_up_its_patience():
    cut = [streamed(PING, PING) for _ in range(14)]
    async with stranger(following(*cut, streamed(PING, output(0, b"one"), END))) as one:
        rollout = corral.Rollout("shell", client=corral.Client(one.url, "key", "run", patience_s=1))
        assert await read(rollout.stream("make")) == b"one"


async def test_a_gateway_of_the_release_before_in_the_middle_of_an_upgrade_is_not_the_jobs_mistake():
    older = failure("invalid_request", 400, blame="caller", retryable=False, message="there is no GET here")
    replies = [older, answer(200, {"received": 1, "open": True})]
    connections = following(older, older, streamed(output(0, b"one"), END))

    def say(line: str, number: int) -> bytes | None:
        return replies.pop(0) if "/stdin" in line else connections(line, number)

    async with stranger(say) as one:
        rollout = corral.Rollout("shell", client=corral.Client(one.url, "key", "run"))
        running = rollout.stream("cat", open_stdin=True)
        assert await running.write("x")
        assert await read(running) == b"one"
        assert not rollout.discarded

    def refuses(line: str, number: int) -> bytes | None:
        return older if "/exec" in line else following()(line, number)

    async with stranger(refuses) as one:
        rollout = corral.Rollout("shell", client=corral.Client(one.url, "key", "run"))
        with pytest.raises(corral.Misuse):
            await rollout.stream("cat").start()


async def test_a_sandbox_of_the_release_before_takes_no_open_stdin_and_there_is_no_score():
    older = failure("sandboxd_unreachable", 503, retryable=False)
    async with stranger(lambda line, _: older if "/exec" in line else opened()) as one:
        rollout = corral.Rollout("shell", client=corral.Client(one.url, "key", "run"))
        with pytest.raises(corral.Unavailable):
            await rollout.stream("sort", open_stdin=True).write("x")
        with pytest.raises(corral.Unavailable):
            await rollout.grade()


@pytest.mark.parametrize("use", ["start", "write"])
async def test_a_deadline_of_any_use_before_the_fleet_began_leaves_no_score(use: str):
    def say(line: str, _number: int) -> bytes:
        path = line.partition("?")[0]
        if path.endswith("/cancel"):
            return answer(202, {"call_id": "c", "state": "cancelling", "began": False, "waiting": True})
        return b"" if path.endswith("/exec") else opened()

    async with stranger(say) as one:
        rollout = corral.Rollout("shell", client=corral.Client(one.url, "key", "run"))
        running = rollout.stream("cat", open_stdin=True)
        use_it: Coroutine[Any, Any, object] = running.start() if use == "start" else running.write("x")
        stopped = asyncio.ensure_future(use_it)
        await cancel_when(lambda: len(one.bodies("/exec")) == 1, stopped)
        with pytest.raises(corral.Unavailable, match="never_began"):
            await rollout.grade()


@pytest.mark.parametrize("began", [False, True])
async def test_a_deadline_before_the_fleet_began_with_the_command_leaves_no_score_and_a_later_one_nothing(
    began: bool,
):
    """Where the fleet has begun with it, the time is the policy's, and the command is followed on."""

    def say(line: str, _number: int) -> bytes:
        path = line.partition("?")[0]
        if path.endswith("/cancel"):
            return answer(202, {"call_id": "c", "state": "cancelling", "began": began, "waiting": not began})
        if path.endswith("/exec"):
            return RUNNING if began else b""
        if path.endswith("/stream"):
            return streamed(PING, is_whole=False)
        return (
            answer(200, {"score": 0, "detail": {}, "replayed": False})
            if path.endswith("/grade")
            else opened()
        )

    async with stranger(say) as one:
        rollout = corral.Rollout("shell", client=corral.Client(one.url, "key", "run"))
        running = rollout.stream("make")
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(anext(running), 1.2)
        if began:
            assert one.bodies("/cancel") == []
            assert (await rollout.grade()).score == 0
        else:
            with pytest.raises(corral.Unavailable, match="never_began"):
                await rollout.grade()
        await running.__aexit__(None, None, None)


@pytest.mark.parametrize("use", ["anext", "write"])
async def test_a_deadline_of_one_use_after_the_command_was_sent_stops_nothing_however_slow_the_fleet_is(
    use: str,
):
    def say(line: str, _number: int) -> bytes:
        path = line.partition("?")[0]
        if path.endswith("/cancel"):
            return answer(202, {"call_id": "c", "state": "cancelling", "began": True, "waiting": False})
        if path.endswith(("/stream", "/stdin")):
            return b""
        if path.endswith("/grade"):
            return GRADED
        return RUNNING if path.endswith("/exec") else opened()

    async with stranger(say) as one:
        rollout = corral.Rollout("shell", client=corral.Client(one.url, "key", "run"))
        running = rollout.stream("cat", open_stdin=True)
        await running.start()
        use_it: Coroutine[Any, Any, object] = running.write("x") if use == "write" else running.__anext__()
        stopped = asyncio.ensure_future(use_it)
        await cancel_when(lambda: one.bodies("/stdin" if use == "write" else "/stream") != [], stopped)
        assert (await rollout.grade()).score == 0
        assert one.bodies("/cancel") == []


async def test_a_request_whose_time_was_over_before_it_began_is_sent_again():
    sent, given = [LATE, LATE, RUNNING], [LATE, answer(200, {"received": 1, "open": True})]
    connections = following(*[LATE] * 8, streamed(output(0, b"one"), END))

    def say(line: str, number: int) -> bytes | None:
        if "/stdin" in line:
            return given.pop(0)
        return sent.pop(0) if "/exec" in line else connections(line, number)

    async with stranger(say) as one:
        rollout = corral.Rollout("shell", client=corral.Client(one.url, "key", "run", patience_s=1))
        running = rollout.stream("cat", open_stdin=True)
        await running.start()
        assert len(one.bodies("/exec")) == 3
        assert await running.write("x")
        assert await read(running) == b"one"
        assert not rollout.discarded


async def test_an_end_that_was_heard_is_not_lost_with_the_result_that_is_read_too_late():
    expired = failure("answer_expired", 410, blame="caller", retryable=False, admitted="yes")

    def say(line: str, _number: int) -> bytes:
        path = line.partition("?")[0]
        if path.endswith("/stream"):
            return streamed(output(0, b"one"), END)
        if "/calls/" in path:
            return expired
        if path.endswith("/grade"):
            return GRADED
        return RUNNING if path.endswith("/exec") else opened()

    async with stranger(say) as one:
        rollout = corral.Rollout("shell", client=corral.Client(one.url, "key", "run"))
        running = rollout.stream("make")
        assert await read(running) == b"one"
        with pytest.raises(corral.Discarded, match="answer_expired"):
            await running.result()
        assert (await rollout.grade()).score == 0


async def test_stdin_of_a_command_that_keeps_none_open_is_the_jobs_mistake_and_is_not_sent():
    async with stranger(following()) as one:
        rollout = corral.Rollout("shell", client=corral.Client(one.url, "key", "run"))
        running = rollout.stream("cat")
        with pytest.raises(corral.Misuse, match="open_stdin"):
            await running.write("x")
        with pytest.raises(corral.Misuse):
            await running.end_stdin()
        assert one.heard == []
        with pytest.raises(corral.Misuse):
            await rollout.grade()


@pytest.mark.parametrize("use", ["read", "write", "start"])
async def test_what_goes_on_for_longer_than_any_command_is_given_up_and_there_is_no_score(
    use: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sending, "LONGEST_WORK_S", 1)

    def say(line: str, _number: int) -> bytes:
        if "/stdin" in line:
            return answer(200, {"received": 0, "open": True})
        if "/stream" in line:
            return LATE
        if "/exec" in line:
            return LATE if use == "start" else RUNNING
        return opened()

    async with stranger(say) as one:
        rollout = corral.Rollout("shell", client=corral.Client(one.url, "key", "run"))
        running = rollout.stream("cat", open_stdin=True)
        with pytest.raises(corral.Discarded, match="still_running"):
            await (running.write("x") if use == "write" else read(running))
        with pytest.raises(corral.Discarded):
            await rollout.grade()
