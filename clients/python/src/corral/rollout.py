"""One rollout: opened at its first use, kept alive, tried again without running anything twice, and let go for certain."""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import Any, Final, Literal, Self, TypeVar

from .client import Client
from .errors import CorralError, Discarded, Failure, Misuse, Refused, RequirementsUnmet
from .exchange import Asked, Gateway, Reply, exchange, own_failure
from .folders import pack, unpack
from .giving_up import find_reason, never_began
from .heartbeat import keep_alive, lease_s_of
from .leaving import Held, hold, is_held, let_go, prepare_to_leave
from .pool import Pool, pool_of_loop
from .refusals import unmet
from .results import (
    CallResult,
    Grade,
    NotCorral,
    Opened,
    Verdict,
    read_binary_call,
    read_call,
    read_grade,
    read_opened,
    read_verdict,
)
from .routes import (
    ATTACH,
    CALL,
    CANCEL,
    DOWNLOAD,
    EXEC,
    FINISH,
    GRADE,
    OPEN,
    READ,
    REFUSE,
    UPLOAD,
    VERDICT,
    VIEW,
    WRITE,
    Route,
)
from .waiting import logging_why
from .writing import check_bounds, check_command, check_path, check_sample, json_text, readable, stdin_fields

log = logging.getLogger("corral")
T = TypeVar("T")

# Longer than any rollout lives (2 h) or any command runs (1 h): a bound on work that a gateway says goes on.
LONGEST_WORK_S: Final = 3 * 3600.0
FINISH_PATIENCE_S: Final = 30.0
# A file may wait ten minutes for its sandbox, and then the gateway says so.
FILE_SILENT_S: Final = 630.0
# Below what a gateway carries by default (256 MiB): there, more shows as a broken connection, which is no answer.
LONGEST_FILE_BYTES: Final = 64 * 1024 * 1024
# Of each sentence of a refusal, in characters.
LONGEST_REFUSAL_TEXT: Final = 2000


class Rollout:
    """One attempt of the policy at one task, and its sandbox.

    Nothing is sent until the first use, so that building 512 of them costs nothing. Use it as `async with`, or call
    `finish`; what is forgotten is finished when it is collected, and at the end of the process.

    After an infrastructure failure of a call, every later call raises the same, also the grade: a framework that tells the
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
        self._gateway: Final[Gateway] = (client or Client()).gateway
        self._held: Final = Held(self._gateway, self.rollout_id, attempt)
        self._open_body: Final = {
            "rollout_id": self.rollout_id,
            "attempt": attempt,
            "environment": environment,
            **({} if item is None else {"item": item}),
            **({} if group is None else {"group": group}),
            **({} if step is None else {"step": step}),
            **({} if not labels else {"labels": list(labels)}),
            **({} if not requires else {"requires": dict(requires)}),
        }
        self._opened: Opened | None = None
        self._opening: asyncio.Lock | None = None
        self._finishing: asyncio.Task[None] | None = None
        self._is_over = False
        self._is_served = False
        self._takes_setup = True
        self._barred: CorralError | None = None
        self._misused: Misuse | None = None
        self._given_up: Final[set[asyncio.Task[None]]] = set()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.finish()

    @property
    def is_over(self) -> bool:
        return self._is_over

    @property
    def discarded(self) -> CorralError | None:
        """Why this rollout has no score, as far as this process has been told; None while nothing has failed."""
        return self._barred or self._misused

    @property
    def takes_setup(self) -> bool:
        """Whether `setup=True` may be said: it is `Misuse` after the first request without it."""
        return self._takes_setup

    async def open(self) -> Opened:
        """Takes its place in line. Every use does so by itself; call it to be early, or to have a wrong key said now."""
        self._check()
        self._opening = self._opening or asyncio.Lock()
        async with self._opening:
            self._check()
            if self._opened is None:
                self._opened = await self._open()
            return self._opened

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
        `merge`: stderr comes in `stdout`, in the order of writing.
        `binary`: the result has `stdout_bytes` and `stderr_bytes`.
        `max_output_bytes`: kept of each stream, 10 MiB at most; without it what the environment keeps.
        `probe`: an adapter's own question to the sandbox. If it is `Misuse`, the rollout can still be graded.
        `setup`: prepares the sandbox for the policy, before its first call. If the sandbox is lost after it and before that call,
        the fleet runs it again in the next one. Never for what the policy asks for."""
        argv = [command] if isinstance(command, str) else list(command)
        given = stdin_fields(stdin)
        check_command(argv, env or {}, [cwd or "", *given.values()])
        check_bounds(timeout_s, call_id, user, max_output_bytes)
        body = {
            **({"command": command} if isinstance(command, str) else {"argv": argv}),
            **({"cwd": cwd} if cwd else {}),
            **({} if env is None else {"env": dict(env)}),
            **given,
            **({} if user is None else {"user": user}),
            **({"merge": True} if merge else {}),
            **({"binary": True} if binary else {}),
            **({} if max_output_bytes is None else {"max_output_bytes": max_output_bytes}),
            **({"setup": True} if setup else {}),
        }
        read = read_binary_call if binary else read_call
        return await self._run(EXEC, body, timeout_s, call_id, read=read, is_probe=probe)

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | str,
        *,
        timeout_s: float | None = None,
        setup: bool = False,
        call_id: str | None = None,
    ) -> CallResult:
        """Calls a tool of the environment. Give the model's arguments as it wrote them: what is wrong in them is told to
        the model (`refused`, with the text in `output`), and is no error. `setup`: as of `exec`; then they are the trainer's
        own, and what is wrong in them is `Misuse`."""
        check_bounds(timeout_s, call_id)
        body = {"name": name, "arguments": readable(arguments), **({"setup": True} if setup else {})}
        return await self._run(CALL, body, timeout_s, call_id)

    async def read(self, path: str, *, most_bytes: int = LONGEST_FILE_BYTES) -> bytes:
        """A file's bytes; below the workspace, or absolute. Raises Refused where it is not there, no file, or larger."""
        check_path(path)
        return await self._taken(self._asked(READ, path=path, most_bytes=most_bytes, silent_s=FILE_SILENT_S))

    async def write(self, path: str, data: bytes | str, *, setup: bool = False) -> None:
        """Writes a file, below the workspace or absolute, as the policy's user. Raises Refused where that cannot be.
        `setup`: as of `exec`."""
        check_path(path)
        content = data.encode(errors="replace") if isinstance(data, str) else data
        await self._act(self._put(WRITE, content, setup=setup, path=path))

    async def upload_dir(self, source: str | Path, target: str, *, setup: bool = False) -> None:
        """Puts what is in a folder of this machine into one of the sandbox, as the policy's user, with modes and links.
        `setup`: as of `exec`."""
        check_path(target)
        packed = await self._of_this_machine(pack, source)
        await self._act(self._put(UPLOAD, packed, setup=setup, query={"path": target}))

    async def download_dir(
        self, source: str, target: str | Path, *, most_bytes: int = LONGEST_FILE_BYTES
    ) -> list[str]:
        """Writes what is in a folder of the sandbox into one of this machine: files and folders. Links lead anywhere, so they
        are left out; returns their names. Raises Refused where it is not there, larger, or was broken off in there."""
        check_path(source)
        asked = self._asked(DOWNLOAD, query={"path": source}, most_bytes=most_bytes, silent_s=FILE_SILENT_S)
        return await self._of_this_machine(unpack, await self._taken(asked), target)

    async def grade(self, sample: Mapping[str, Any] | None = None) -> Grade:
        """Runs the environment's grader, once; a repeat gets the stored score. `sample`: what the model answered, such as
        `{"output_text": …}`."""
        check_sample(sample or {})
        self._check_misuse()
        asked = self._asked(GRADE, body={} if sample is None else {"sample": dict(sample)})
        return self._read(read_grade, await self._repeated(asked))

    async def score(self, score: float) -> None:
        """Brings the trainer's own score and lets the sandbox go, where the environment leaves grading to the trainer
        (`grader: {kind: none}`). Raises as `grade` does: a rollout that lost its state takes no score."""
        self._check_misuse()
        await self._repeated(self._asked(FINISH, body={"score": score}))
        self._is_over = True
        let_go(self._held)

    async def refuse(self, requirement: str, *, wanted: str, given: str, fix: str) -> None:
        """Discards the rollout because its environment does not meet the task's requirements, as a failure of the caller.
        Possible until a score is stored. Every later call raises RequirementsUnmet."""
        texts = {"wanted": wanted, "given": given, "fix": fix}
        cut = {name: text[:LONGEST_REFUSAL_TEXT] for name, text in texts.items()}
        await self._act(self._asked(REFUSE, body={"requirement": requirement, **cut}))
        self._bar(unmet(requirement, **texts))
        let_go(self._held)

    async def verdict(self) -> Verdict:
        """What the fleet says of it: scorable, or discarded and why."""
        await self._learn_of_given_up()
        reply = await exchange(await pool_of_loop(), self._gateway, self._asked(VERDICT))
        return self._read(read_verdict, reply)

    async def finish(self) -> None:
        """Lets the sandbox go. Idempotent, goes on when it is cancelled, and never raises: what was scored stays scored, and
        what could not be told now is told again at the end of the process."""
        self._is_over = True
        if not (self._finishing or is_held(self._held)):
            return
        if self._finishing is None:
            self._finishing = (await pool_of_loop()).spawn(self._finish())
        await asyncio.shield(self._finishing)

    async def _open(self) -> Opened:
        pool = await pool_of_loop()
        hold(self._held)
        asked = Asked(OPEN, OPEN.path, text=json_text(self._open_body))
        try:
            reply = await self._barring(pool, asked)
        except (Misuse, Discarded, RequirementsUnmet):
            # It was refused, so there is nothing to let go.
            let_go(self._held)
            raise
        opened = self._read(read_opened, reply)
        if self._is_over:
            await self._finish()
            self._check()
        lease_s = lease_s_of(opened.lease_until, reply.answer)
        pool.spawn(keep_alive(weakref.ref(self), self._held, pool, lease_s))
        return opened

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
        call = call_id or f"c-{uuid.uuid4().hex}"
        timing = {} if timeout_s is None else {"timeout_s": timeout_s}
        named = {"call_id": call, **body, **timing}
        is_setup = body.get("setup", False)
        asked = self._asked(route, body=named, is_probe=is_probe, is_new_id=not call_id, is_setup=is_setup)
        began_s = time.monotonic()
        try:
            reply = await self._settled(asked, call)
        except asyncio.CancelledError:
            # A caller that stops waiting for a command means it to stop, and not to run on next to the following one.
            await self._give_up(self._asked(CANCEL, call_id=call), began_s)
            raise
        return self._read(read, reply)

    async def _settled(self, asked: Asked, call: str) -> Reply:
        until = monotonic() + LONGEST_WORK_S
        reply = await self._act(asked)
        while reply.status == 202:
            asked = replace(asked, is_new_id=True)
            if monotonic() > until:
                raise self._bar(
                    Discarded(own_failure("still_running", "the call does not end", "infrastructure"))
                )
            reply = await self._attach(asked, call)
        return reply

    async def _repeated(self, asked: Asked) -> Reply:
        """For what is known by its rollout alone: sent again while its work goes on."""
        until = monotonic() + LONGEST_WORK_S
        reply = await self._act(asked)
        while reply.status == 202 and monotonic() < until:
            reply = await self._act(asked)
        return reply

    async def _attach(self, asked: Asked, call: str) -> Reply:
        self._check()
        try:
            return await self._heard(await pool_of_loop(), self._asked(ATTACH, call_id=call))
        except CorralError as error:
            # Fleet state may have forgotten the call; its sandbox has not, and a repeat attaches there.
            if error.code == "unknown_call":
                return await self._act(asked)
            raise self._failed(asked, error) from None

    async def _give_up(self, asked: Asked, began_s: float) -> None:
        """`asked`: tells whether what was given up had begun. Until that is known, later requests of the rollout wait."""
        waited_s = time.monotonic() - began_s
        if self._is_over:
            return
        if not self._opened:
            self._bar(never_began(waited_s))
            return
        task = (await pool_of_loop()).spawn(self._learn(asked, waited_s))
        self._given_up.add(task)
        task.add_done_callback(self._given_up.discard)

    async def _learn(self, asked: Asked, waited_s: float) -> None:
        pool = await pool_of_loop()
        patience_s = min(FINISH_PATIENCE_S, self._gateway.patience_s)
        reason = await find_reason(pool, self._gateway, asked, waited_s, patience_s)
        if reason is not None:
            self._bar(reason)

    async def _learn_of_given_up(self) -> None:
        while self._given_up:
            await asyncio.wait(self._given_up)

    async def _finish(self) -> None:
        if not is_held(self._held):
            return
        try:
            patience_s = min(FINISH_PATIENCE_S, self._gateway.patience_s)
            await exchange(await pool_of_loop(), self._gateway, self._asked(FINISH), patience_s)
        except (Discarded, Misuse, RequirementsUnmet) as error:
            log.debug("the rollout %s had ended: %s", self.rollout_id, error)
            # An open whose answer was never heard may still land: then it is deleted at the end of the process.
            if self._opened is None and error.code == "rollout_unknown":
                return
        except CorralError as error:
            log.warning("the rollout %s is not finished yet: %s", self.rollout_id, error)
            return
        let_go(self._held)

    def _put(self, route: Route, content: bytes, *, setup: bool, **names: Any) -> Asked:
        """Under an id, so that a repeat whose first answer was lost does not put back what a later call has changed."""
        mark = {"setup": "true"} if setup else {}
        query = {"call_id": f"u-{uuid.uuid4().hex}", **mark, **names.pop("query", {})}
        rest = {"silent_s": FILE_SILENT_S, "is_setup": setup}
        return self._asked(route, query=query, content=content, **rest, **names)

    async def _taken(self, asked: Asked) -> bytes:
        answer = (await self._act(asked)).answer
        if answer.is_cut:
            message = f"it has more than {asked.most_bytes} bytes"
            raise Refused(own_failure("payload_too_large", message, "model")).named(self.rollout_id)
        return answer.content

    async def _act(self, asked: Asked) -> Reply:
        self._takes_setup = self._takes_setup and asked.is_setup
        began_s = time.monotonic()
        try:
            await self.open()
            await self._learn_of_given_up()
            self._check()
            return await self._barring(await pool_of_loop(), asked)
        except asyncio.CancelledError:
            if asked.route.of == "file":
                await self._give_up(self._asked(VIEW), began_s)
            raise

    async def _barring(self, pool: Pool, asked: Asked) -> Reply:
        try:
            return await self._heard(pool, asked)
        except CorralError as error:
            raise self._failed(asked, error) from None

    async def _heard(self, pool: Pool, asked: Asked) -> Reply:
        try:
            if self._is_served:
                return await exchange(pool, self._gateway, asked)
            with logging_why(pool, self._held, self._open_body, asked):
                reply = await exchange(pool, self._gateway, replace(asked, is_watched=True))
            self._is_served = asked.route is not OPEN
            return reply
        except asyncio.CancelledError:
            # A trainer's own deadline that ran out while the machinery was away is not the policy's slowness: a framework
            # that goes on and grades would make a low score of it.
            if asked.troubles:
                self._bar(asked.troubles[-1])
            raise

    async def _of_this_machine(self, work: Callable[..., T], *given: Any) -> T:
        """Work with this machine's files. What fails of it may leave the grader without a file, as a failed call does."""
        try:
            return await asyncio.to_thread(work, *given)
        except Refused as error:
            raise error.named(self.rollout_id) from None
        except Misuse as error:
            raise self._bar(error) from None

    def _failed(self, asked: Asked, error: CorralError) -> CorralError:
        """What a request raises. Neither what the policy may have caused nor a probe's mistake keeps the rollout from a score."""
        if isinstance(error, Refused) or (asked.is_probe and isinstance(error, Misuse)):
            return error.named(self.rollout_id)
        return self._bar(error)

    def _bar(self, error: CorralError) -> CorralError:
        named = error.named(self.rollout_id)
        if isinstance(named, Misuse):
            self._misused = self._misused or named
        else:
            self._barred = self._barred or named
        return named

    def _check_misuse(self) -> None:
        """A score must not come of calls that the job's own mistake has kept from running."""
        self._check()
        if self._misused is not None:
            raise self._misused.once_more()

    def _check(self) -> None:
        if self._barred is not None:
            raise self._barred.once_more()
        if self._is_over:
            over = own_failure("rollout_closed", "the rollout was finished here", "caller")
            raise Discarded(replace(over, rollout_id=self.rollout_id))

    def _read(self, read: Callable[[dict[str, Any]], T], reply: Reply) -> T:
        try:
            return read(reply.body)
        except NotCorral as stranger:
            raise self._bar(Discarded(_strange(stranger))) from None

    def _text(self, body: Mapping[str, Any], *, is_probe: bool) -> str:
        """What is not JSON was never sent: a score must not come of that."""
        try:
            return json_text(body)
        except Misuse as error:
            raise (error.named(self.rollout_id) if is_probe else self._bar(error)) from None

    def _asked(self, route: Route, body: Mapping[str, Any] | None = None, **rest: Any) -> Asked:
        names = {name: rest.pop(name) for name in ("path", "call_id") if name in rest}
        text = None if body is None else self._text(body, is_probe=rest.get("is_probe", False))
        path = route.at(id=self.rollout_id, **names)
        query = {**self._held.query, **rest.pop("query", {})}
        return Asked(route, path, query=query, text=text, **rest)


def _strange(stranger: NotCorral) -> Failure:
    return own_failure("not_corral", f"the gateway's answer cannot be read: {stranger}", "infrastructure")
