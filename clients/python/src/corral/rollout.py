"""One rollout: opened at its first use, kept alive, tried again without running anything twice, and let go for certain."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import Any, Final, Literal, Self, TypeVar

from .client import Client
from .errors import CorralError, Misuse, Refused
from .exchange import Asked, exchange, own_failure
from .folders import pack, unpack
from .leaving import Held, let_go, prepare_to_leave
from .pool import pool_of_loop
from .refusals import unmet
from .results import (
    CallResult,
    Grade,
    Opened,
    Verdict,
    read_binary_call,
    read_call,
    read_grade,
    read_verdict,
)
from .routes import CALL, DOWNLOAD, EXEC, FINISH, GRADE, READ, REFUSE, TERMINAL, UPLOAD, VERDICT, WRITE, Route
from .session import FILE_SILENT_S, Session
from .streaming import Running
from .writing import check_bounds, check_path, check_sample, command_body, readable

T = TypeVar("T")

# Below what a gateway carries by default (256 MiB): there, more shows as a broken connection, which is no answer.
LONGEST_FILE_BYTES: Final = 64 * 1024 * 1024
# Of each sentence of a refusal, in characters.
LONGEST_REFUSAL_TEXT: Final = 2000


class Rollout:
    """One attempt of the policy at one task, and its sandbox.

    Nothing is sent until the first use, so that building 512 of them costs nothing. Use it as `async with`, or call
    `finish`; a forgotten rollout is finished when it is garbage-collected, or at the end of the process.

    After an infrastructure failure of a call, every later call raises the same, also the grade: a framework that shows the
    failure to the model as text, and goes on, must not get a score for it. After a `Misuse` later calls are sent, and `grade`
    and `score` raise it.
    """

    def __init__(
        self,
        environment: str,
        *,
        item: Mapping[str, Any] | None = None,
        group: str | None = None,
        step: int | None = None,
        labels: Sequence[str] = (),
        rollout_id: str | None = None,
        attempt: int = 1,
        requires: Mapping[str, Any] | None = None,
        client: Client | None = None,
    ) -> None:
        """`requires`: what the task demands of its sandbox; see docs/clients/python.md. The fleet refuses a rollout whose
        environment gives less (`RequirementsUnmet`)."""
        prepare_to_leave()
        self.environment: Final = environment
        self.rollout_id: Final = rollout_id or f"r-{uuid.uuid4().hex}"
        self.attempt: Final = attempt
        gateway = (client or Client()).gateway
        open_body = {
            "rollout_id": self.rollout_id,
            "attempt": attempt,
            "environment": environment,
            **({} if item is None else {"item": item}),
            **({} if group is None else {"group": group}),
            **({} if step is None else {"step": step}),
            **({} if not labels else {"labels": list(labels)}),
            **({} if not requires else {"requires": dict(requires)}),
        }
        self._session: Final = Session(gateway, Held(gateway, self.rollout_id, attempt), open_body)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.finish()

    @property
    def is_over(self) -> bool:
        return self._session.is_over

    @property
    def discarded(self) -> CorralError | None:
        """Why this rollout has no score, as far as this process knows; None while nothing has failed."""
        return self._session.barred or self._session.misused

    @property
    def takes_setup(self) -> bool:
        """Whether `setup=True` is possible: after the first request without it, it is `Misuse`."""
        return self._session.takes_setup

    async def open(self) -> Opened:
        """Takes its place in line. Every use does so by itself; call it to be early, or to learn of a wrong key now."""
        return await self._session.open()

    async def exec(
        self,
        command: str | Sequence[str],
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        stdin: str | bytes | None = None,
        timeout_s: float | None = None,
        user: Literal["policy", "root"] | None = None,
        merge: bool = False,
        binary: bool = False,
        max_output_bytes: int | None = None,
        probe: bool = False,
        setup: bool = False,
        call_id: str | None = None,
    ) -> CallResult:
        """Runs a command in the sandbox: text by `bash -c` (`sh -c` if the image has no bash), or an argv.

        `timeout_s`: of the command alone; 120 without it.
        `user`: `root` only if the environment's commands run as root.
        `merge`: stderr comes in `stdout`, in the order of writing.
        `binary`: the result has `stdout_bytes` and `stderr_bytes`.
        `max_output_bytes`: kept of each stream, 10 MiB at most; without it what the environment keeps.
        `probe`: an adapter's own question to the sandbox. If it is `Misuse`, the rollout can still be graded.
        `setup`: prepares the sandbox for the policy, before its first call. If the sandbox is lost after it and before that call,
        the fleet runs it again in the next one. Never for what the policy asks for."""
        body = command_body(
            command,
            cwd=cwd,
            env=env,
            stdin=stdin,
            user=user,
            merge=merge,
            max_output_bytes=max_output_bytes,
        )
        check_bounds(timeout_s, call_id, user, max_output_bytes)
        body |= {**({"binary": True} if binary else {}), **({"setup": True} if setup else {})}
        read = read_binary_call if binary else read_call
        return await self._run(EXEC, body, timeout_s, call_id, read=read, is_probe=probe)

    def stream(
        self,
        command: str | Sequence[str],
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        stdin: str | bytes | None = None,
        open_stdin: bool = False,
        timeout_s: float | None = None,
        user: Literal["policy", "root"] | None = None,
        merge: bool = False,
        max_output_bytes: int | None = None,
        call_id: str | None = None,
    ) -> Running:
        """A command as `exec` runs it, to be followed while it runs. Nothing is sent before the first use.

        `open_stdin`: stdin stays open after `stdin`, for `Running.write`.
        `max_output_bytes`: also how far a reader may stay behind before it misses bytes."""
        body = command_body(
            command,
            cwd=cwd,
            env=env,
            stdin=stdin,
            user=user,
            merge=merge,
            max_output_bytes=max_output_bytes,
        )
        check_bounds(timeout_s, call_id, user, max_output_bytes)
        body |= {"stream": True, **({"open_stdin": True} if open_stdin else {})}
        call = call_id or _new_call_id()
        asked = self._sent(EXEC, body, timeout_s, call, is_new_id=not call_id)
        return Running(self._session, asked, call, open_stdin=open_stdin)

    def follow_terminal(
        self, terminal: int, *, timeout_s: float | None = None, call_id: str | None = None
    ) -> Running:
        """What a terminal of the environment prints, in `stdout`: first the latest 64 KiB, then everything until its program
        ends, or for `timeout_s` (an hour). `terminal`: its number, as the model reads it.

        Nothing is sent before the first use."""
        check_bounds(timeout_s, call_id)
        call = call_id or _new_call_id()
        how = {"is_new_id": not call_id, "terminal": str(terminal)}
        return Running(
            self._session, self._sent(TERMINAL, {}, timeout_s, call, **how), call, open_stdin=False
        )

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | str,
        *,
        timeout_s: float | None = None,
        setup: bool = False,
        call_id: str | None = None,
    ) -> CallResult:
        """Calls a tool of the environment. Give the model's arguments as it wrote them: the model receives what is wrong in them
        (`refused`, with the text in `output`), and it is no error. `setup`: as of `exec`; then they are the trainer's own, and
        what is wrong in them is `Misuse`."""
        check_bounds(timeout_s, call_id)
        body = {"name": name, "arguments": readable(arguments), **({"setup": True} if setup else {})}
        return await self._run(CALL, body, timeout_s, call_id)

    async def read(self, path: str, *, most_bytes: int = LONGEST_FILE_BYTES) -> bytes:
        """A file's bytes; below the workspace, or absolute. Raises Refused if it does not exist, is no file, or is larger."""
        check_path(path)
        return await self._taken(
            self._session.asked(READ, path=path, most_bytes=most_bytes, silent_s=FILE_SILENT_S)
        )

    async def write(self, path: str, data: bytes | str, *, setup: bool = False) -> None:
        """Writes a file, below the workspace or absolute, as the policy's user. Raises Refused if that is impossible.
        `setup`: as of `exec`."""
        check_path(path)
        content = data.encode(errors="replace") if isinstance(data, str) else data
        await self._session.act(self._put(WRITE, content, setup=setup, path=path))

    async def upload_dir(self, source: str | Path, target: str, *, setup: bool = False) -> None:
        """Puts what is in a folder of this machine into one of the sandbox, as the policy's user, with modes and links.
        `setup`: as of `exec`."""
        check_path(target)
        packed = await self._of_this_machine(pack, source)
        await self._session.act(self._put(UPLOAD, packed, setup=setup, query={"path": target}))

    async def download_dir(
        self, source: str, target: str | Path, *, most_bytes: int = LONGEST_FILE_BYTES
    ) -> list[str]:
        """Writes the files and folders of a folder of the sandbox into one of this machine. Links lead anywhere, so they are
        left out, and so is what its user cannot read; returns their names, at most 40 of the latter. Raises Refused if the
        folder does not exist, is larger, or was broken off in the sandbox."""
        check_path(source)
        asked = self._session.asked(
            DOWNLOAD, query={"path": source}, most_bytes=most_bytes, silent_s=FILE_SILENT_S
        )
        return await self._of_this_machine(unpack, await self._taken(asked), target)

    async def grade(self, sample: Mapping[str, Any] | None = None) -> Grade:
        """Runs the environment's grader, once; a repeat gets the stored score. `sample`: what the model answered, such as
        `{"output_text": …}`."""
        check_sample(sample or {})
        self._session.check_misuse()
        asked = self._session.asked(GRADE, body={} if sample is None else {"sample": dict(sample)})
        return self._session.read(read_grade, await self._session.repeated(asked))

    async def score(self, score: float) -> None:
        """Brings the trainer's own score and lets the sandbox go, if the environment leaves grading to the trainer
        (`grader: {kind: none}`). Raises as `grade` does: a rollout that lost its state takes no score."""
        self._session.check_misuse()
        await self._session.repeated(self._session.asked(FINISH, body={"score": score}))
        self._session.is_over = True
        let_go(self._session.held)

    async def refuse(self, requirement: str, *, wanted: str, given: str, fix: str) -> None:
        """Discards the rollout because its environment does not meet the task's requirements, as a failure of the caller.
        Possible until a score is stored. Every later call raises RequirementsUnmet."""
        texts = {"wanted": wanted, "given": given, "fix": fix}
        cut = {name: text[:LONGEST_REFUSAL_TEXT] for name, text in texts.items()}
        await self._session.act(self._session.asked(REFUSE, body={"requirement": requirement, **cut}))
        self._session.bar(unmet(requirement, **texts))
        let_go(self._session.held)

    async def verdict(self) -> Verdict:
        """The fleet's word: scorable, or discarded and why."""
        await self._session.learn_of_given_up()
        reply = await exchange(await pool_of_loop(), self._session.gateway, self._session.asked(VERDICT))
        return self._session.read(read_verdict, reply)

    async def finish(self) -> None:
        """Lets the sandbox go. Idempotent, goes on when it is cancelled, and never raises: a score stays, and the end of
        the process tries again what failed."""
        await self._session.finish()

    async def _run(
        self,
        route: Route,
        body: dict[str, Any],
        timeout_s: float | None,
        call_id: str | None,
        *,
        read: Callable[[dict[str, Any]], CallResult] = read_call,
        is_probe: bool = False,
    ) -> CallResult:
        """Sends the call until it has settled. Its id stays the same, so it runs at most once whatever breaks meanwhile."""
        call = call_id or _new_call_id()
        how = {"is_probe": is_probe, "is_new_id": not call_id, "is_setup": body.get("setup", False)}
        asked = self._sent(route, body, timeout_s, call, **how)
        began_s = monotonic()
        try:
            reply = await self._session.settled(asked, call)
        except asyncio.CancelledError:
            await self._session.give_up_call(call, began_s)
            raise
        return self._session.read(read, reply)

    def _sent(
        self, route: Route, body: dict[str, Any], timeout_s: float | None, call: str, **how: bool | str
    ) -> Asked:
        timing = {} if timeout_s is None else {"timeout_s": timeout_s}
        return self._session.asked(route, body={"call_id": call, **body, **timing}, **how)

    def _put(self, route: Route, content: bytes, *, setup: bool, **names: Any) -> Asked:
        """Under an id, so that a repeat whose first answer was lost does not put back what a later call has changed."""
        mark = {"setup": "true"} if setup else {}
        query = {"call_id": f"u-{uuid.uuid4().hex}", **mark, **names.pop("query", {})}
        rest = {"silent_s": FILE_SILENT_S, "is_setup": setup}
        return self._session.asked(route, query=query, content=content, **rest, **names)

    async def _taken(self, asked: Asked) -> bytes:
        answer = (await self._session.act(asked)).answer
        if answer.is_cut:
            message = f"it has more than {asked.most_bytes} bytes"
            raise Refused(own_failure("payload_too_large", message, "model")).named(self.rollout_id)
        return answer.content

    async def _of_this_machine(self, work: Callable[..., T], *given: Any) -> T:
        """Work with this machine's files. What fails of it may leave the grader without a file, as a failed call does."""
        try:
            return await asyncio.to_thread(work, *given)
        except Refused as error:
            raise error.named(self.rollout_id) from None
        except Misuse as error:
            raise self._session.bar(error) from None


def _new_call_id() -> str:
    return f"c-{uuid.uuid4().hex}"
