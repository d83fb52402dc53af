"""The same client for programs without an event loop: `corral.sync.Client`, `corral.sync.Rollout`.

A facade over the asynchronous one, and no copy of it: a rollout needs its heartbeat while the program computes, so a thread
is needed in any case, and with one there everything else can live in it too. One loop serves the whole process, with one
pool of connections; each method waits for its answer. A test compares the signatures, so that the two never part.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Literal, Self, TypeVar

from . import client as _client
from . import rollout as _rollout
from . import streaming as _streaming
from .client import HOLD_S, PATIENCE_S
from .errors import CorralError
from .events import Gap, Output
from .results import CallResult, Grade, Limits, Opened, Verdict
from .rollout import LONGEST_FILE_BYTES

T = TypeVar("T")

_guard = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None


def _background() -> asyncio.AbstractEventLoop:
    global _loop
    with _guard:
        if _loop is None:
            _loop = asyncio.new_event_loop()
            threading.Thread(target=_loop.run_forever, name="corral", daemon=True).start()
        return _loop


def begin(work: Coroutine[Any, Any, T]) -> Future[T]:
    """Work of the asynchronous client in this face's loop, for whoever waits for several at once. Waits for nothing."""
    return asyncio.run_coroutine_threadsafe(work, _background())


def _wait(work: Coroutine[Any, Any, T]) -> T:
    answer = begin(work)
    try:
        return answer.result()
    except BaseException:
        # Ctrl-C: what nobody waits for any more is cancelled in the loop too. For the answer's own failures it does nothing.
        answer.cancel()
        raise


def _forget() -> None:
    global _loop, _guard
    _loop, _guard = None, threading.Lock()


# Threads stay with the parent.
os.register_at_fork(after_in_child=_forget)


class Client:
    """As `corral.Client`."""

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        run: str | None = None,
        *,
        patience_s: float = PATIENCE_S,
        hold_s: float = HOLD_S,
    ) -> None:
        self.asynchronous: Final = _client.Client(url, key, run, patience_s=patience_s, hold_s=hold_s)

    def prewarm(
        self,
        environment: str,
        count: int | None = None,
        *,
        items: Sequence[tuple[Mapping[str, Any] | None, int]] | None = None,
        needed_at: str | None = None,
        requires: Mapping[str, Any] | None = None,
    ) -> int:
        announced = self.asynchronous.prewarm(
            environment, count, items=items, needed_at=needed_at, requires=requires
        )
        return _wait(announced)

    def tools(self, environment: str) -> dict[str, Any]:
        return _wait(self.asynchronous.tools(environment))

    def limits(self, environment: str) -> Limits:
        return _wait(self.asynchronous.limits(environment))


class Running:
    """As `corral.Running`."""

    def __init__(self, asynchronous: _streaming.Running) -> None:
        self.asynchronous: Final = asynchronous
        self.call_id: Final = asynchronous.call_id

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _wait(self.asynchronous.__aexit__(kind, error, trace))

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Output | Gap:
        piece = _wait(_next_of(self.asynchronous))
        if not piece:
            raise StopIteration
        return piece

    def start(self) -> None:
        _wait(self.asynchronous.start())

    def write(self, data: bytes | str) -> bool:
        return _wait(self.asynchronous.write(data))

    def end_stdin(self) -> None:
        _wait(self.asynchronous.end_stdin())

    def result(self) -> CallResult:
        return _wait(self.asynchronous.result())


async def _next_of(running: _streaming.Running) -> Output | Gap | None:
    return await anext(running, None)


class Rollout:
    """As `corral.Rollout`; any thread may use it."""

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
        self.asynchronous: Final = _rollout.Rollout(
            environment,
            item=item,
            group=group,
            step=step,
            labels=labels,
            rollout_id=rollout_id,
            attempt=attempt,
            requires=requires,
            client=None if client is None else client.asynchronous,
        )
        self.environment: Final = environment
        self.rollout_id: Final = self.asynchronous.rollout_id
        self.attempt: Final = attempt

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.finish()

    @property
    def is_over(self) -> bool:
        return self.asynchronous.is_over

    @property
    def discarded(self) -> CorralError | None:
        return self.asynchronous.discarded

    @property
    def takes_setup(self) -> bool:
        return self.asynchronous.takes_setup

    def open(self) -> Opened:
        return _wait(self.asynchronous.open())

    def exec(
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
        return _wait(
            self.asynchronous.exec(
                command,
                cwd=cwd,
                env=env,
                stdin=stdin,
                timeout_s=timeout_s,
                user=user,
                merge=merge,
                binary=binary,
                max_output_bytes=max_output_bytes,
                probe=probe,
                setup=setup,
                call_id=call_id,
            )
        )

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
        return Running(
            self.asynchronous.stream(
                command,
                cwd=cwd,
                env=env,
                stdin=stdin,
                open_stdin=open_stdin,
                timeout_s=timeout_s,
                user=user,
                merge=merge,
                max_output_bytes=max_output_bytes,
                call_id=call_id,
            )
        )

    def follow_terminal(
        self, terminal: int, *, timeout_s: float | None = None, call_id: str | None = None
    ) -> Running:
        return Running(self.asynchronous.follow_terminal(terminal, timeout_s=timeout_s, call_id=call_id))

    def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | str,
        *,
        timeout_s: float | None = None,
        setup: bool = False,
        call_id: str | None = None,
    ) -> CallResult:
        return _wait(
            self.asynchronous.call(name, arguments, timeout_s=timeout_s, setup=setup, call_id=call_id)
        )

    def read(self, path: str, *, most_bytes: int = LONGEST_FILE_BYTES) -> bytes:
        return _wait(self.asynchronous.read(path, most_bytes=most_bytes))

    def write(self, path: str, data: bytes | str, *, setup: bool = False) -> None:
        _wait(self.asynchronous.write(path, data, setup=setup))

    def upload_dir(self, source: str | Path, target: str, *, setup: bool = False) -> None:
        _wait(self.asynchronous.upload_dir(source, target, setup=setup))

    def download_dir(
        self, source: str, target: str | Path, *, most_bytes: int = LONGEST_FILE_BYTES
    ) -> list[str]:
        return _wait(self.asynchronous.download_dir(source, target, most_bytes=most_bytes))

    def grade(self, sample: Mapping[str, Any] | None = None) -> Grade:
        return _wait(self.asynchronous.grade(sample))

    def score(self, score: float) -> None:
        _wait(self.asynchronous.score(score))

    def refuse(self, requirement: str, *, wanted: str, given: str, fix: str) -> None:
        _wait(self.asynchronous.refuse(requirement, wanted=wanted, given=given, fix=fix))

    def verdict(self) -> Verdict:
        return _wait(self.asynchronous.verdict())

    def finish(self) -> None:
        _wait(self.asynchronous.finish())
