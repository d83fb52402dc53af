"""What the fleet answers, read once at the edge. An answer that lacks a field is no answer of a fleet (`NotCorral`)."""

from __future__ import annotations

import signal
from base64 import b64decode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar, cast, get_args

from .errors import Admitted, Blame, Failure

Outcome = Literal["completed", "timed_out", "refused", "cancelled"]
Json = Mapping[str, Any]
T = TypeVar("T")


class NotCorral(Exception):
    """Somebody else answered: a proxy, or a server that is no gateway."""


@dataclass(frozen=True, slots=True)
class Truncated:
    """Whether output was cut, and how many bytes there were of both streams together."""

    stdout: bool
    stderr: bool
    total_bytes: int

    def __bool__(self) -> bool:
        return self.stdout or self.stderr


@dataclass(frozen=True, slots=True)
class CallResult:
    """What happened to a command or a tool call. All of it is the policy's own, failures too.

    `output` is the text for the model. A stream that was cut ends with a line that says so: its head and tail are kept,
    and the seam between them is not visible.
    """

    call_id: str
    outcome: Outcome
    code: str | None
    """The model's failure, if there is one: `command_timeout`, `bad_arguments`, `sandbox_broken`, …"""
    exit_code: int | None
    """None if the command timed out, was canceled, never began, or broke its sandbox; 128 and its number for a
    signal, as in a shell."""
    signal: str | None
    output: str
    stdout: str
    stderr: str
    truncated: Truncated
    timed_out: bool
    oom_killed: bool
    duration_s: float
    waited_s: float
    """The fleet's own time, never charged to the command's timeout."""
    sandbox: str | None
    replayed: bool
    stdout_bytes: bytes | None = None
    """What was kept of stdout as bytes, without a mark where it was cut; of a command with `binary=True`."""
    stderr_bytes: bytes | None = None

    @property
    def return_code(self) -> int:
        """A number in any case: `exit_code`, 124 for a timeout, 126 if nothing ran, 137 if it was stopped or broke its
        sandbox."""
        if self.exit_code is not None:
            return self.exit_code
        return {"timed_out": 124, "refused": 126}.get(self.outcome, 137)


@dataclass(frozen=True, slots=True)
class Cancelled:
    """Whether a request that was given up had begun, and whether its rollout still waits for a sandbox."""

    began: bool
    waiting: bool


@dataclass(frozen=True, slots=True)
class Grade:
    """A score. A rollout without a score raises an exception, and is never a zero."""

    score: float
    detail: Json
    replayed: bool


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a rollout may be scored, and why not."""

    scorable: bool
    code: str | None
    cause: str | None
    suspected: str | None
    score: float | None
    state: str
    blame: str | None
    what: str
    """The story of a discard in sentences; empty for others."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What an environment gives each command, known before anything is opened."""

    run_as: str
    """`user` or `root`."""
    folders: tuple[str, ...]
    """Writable and empty at the start, next to the workspace and `/tmp`."""
    longest_timeout_s: float
    output_bytes: int
    """Kept of each stream, unless a command asks for another number."""


@dataclass(frozen=True, slots=True)
class Opened:
    """What the client keeps of a rollout's record."""

    run: str
    attempt: int
    version: str
    ahead: int | None
    lease_until: str


def read_call(body: Json) -> CallResult:
    cut = _object(body, "truncated")
    truncated = Truncated(_bool(cut, "stdout"), _bool(cut, "stderr"), int(_number(cut, "total_bytes")))
    epoch = _nullable(_object, body, "epoch")
    signal_name = _nullable(_text, body, "signal")
    outcome = _one_of(body, "outcome", get_args(Outcome))
    stdout, stderr = _bytes(body, "stdout"), _bytes(body, "stderr")
    exited = _exit_code(_nullable(_number, body, "exit_code"), signal_name)
    return CallResult(
        call_id=_text(body, "call_id"),
        outcome=outcome,
        code=_nullable(_text, body, "code"),
        # A command that is killed at its timeout ends by a signal, too, but its outcome is the timeout.
        exit_code=exited if outcome == "completed" else None,
        signal=signal_name,
        output=_text(body, "output"),
        stdout=_marked(_shown(body, "stdout", stdout), "stdout", truncated.stdout),
        stderr=_marked(_told(body, outcome, stderr), "stderr", truncated.stderr),
        truncated=truncated,
        timed_out=_bool(body, "timed_out"),
        oom_killed=_bool(body, "oom_killed"),
        duration_s=_number(body, "duration_ms") / 1000,
        waited_s=_number(body, "waited_ms") / 1000,
        sandbox=None if epoch is None else _text(epoch, "sandbox"),
        replayed=_bool(body, "replayed"),
        stdout_bytes=stdout,
        stderr_bytes=stderr,
    )


def read_binary_call(body: Json) -> CallResult:
    """Of a command with `binary`. If nothing ran there are only texts, and so in a sandbox of an older fleet: there bytes that
    are not UTF-8 are lost, and the stream counts as cut."""
    call = read_call(body)
    if call.stdout_bytes is not None:
        return call
    texts = {stream: _text(body, stream) for stream in ("stdout", "stderr")}
    lost = {stream: "\ufffd" in text for stream, text in texts.items()}
    cut = call.truncated
    return replace(
        call,
        stdout_bytes=texts["stdout"].encode(),
        stderr_bytes=texts["stderr"].encode(),
        truncated=Truncated(cut.stdout or lost["stdout"], cut.stderr or lost["stderr"], cut.total_bytes),
    )


def _bytes(body: Json, stream: str) -> bytes | None:
    text = _optional(_text, body, f"{stream}_base64")
    try:
        return b64decode(text, validate=True) if text is not None else None
    except ValueError:
        raise NotCorral(f"{stream} of the answer is not base64") from None


def _shown(body: Json, stream: str, raw: bytes | None) -> str:
    return raw.decode(errors="replace") if raw is not None else _text(body, stream)


def _told(body: Json, outcome: Outcome, raw: bytes | None) -> str:
    """The stream, or why nothing ran: else a framework that shows only streams shows an exit code without a reason."""
    stderr = _shown(body, "stderr", raw)
    return _text(body, "output") if outcome == "refused" and stderr == "" else stderr


def read_limits(body: Json) -> Limits:
    return Limits(
        run_as=_text(body, "run_as"),
        folders=tuple(str(each) for each in _list(body, "folders")),
        longest_timeout_s=_number(body, "longest_timeout_s"),
        output_bytes=int(_number(body, "output_bytes")),
    )


def read_cancelled(body: Json) -> Cancelled:
    # A gateway of the previous version cancels only what has begun, and does not say so.
    return Cancelled(_optional(_bool, body, "began") is not False, _optional(_bool, body, "waiting") is True)


def read_progress(body: Json) -> Cancelled:
    """From the view of a rollout, for a request that has no id: it waits if its rollout has no sandbox yet."""
    waiting = _text(body, "state") in ("waiting", "claimed")
    return Cancelled(began=not waiting, waiting=waiting)


def read_grade(body: Json) -> Grade:
    return Grade(_number(body, "score"), _object(body, "detail"), _bool(body, "replayed"))


def read_verdict(body: Json) -> Verdict:
    verdict = _object(body, "verdict")
    discard = _nullable(_object, body, "discard")
    return Verdict(
        scorable=_one_of(verdict, "kind", ("scorable", "discard")) == "scorable",
        code=_optional(_text, verdict, "code"),
        cause=_optional(_text, verdict, "cause"),
        suspected=_optional(_text, verdict, "suspected"),
        score=_nullable(_number, body, "score"),
        state=_text(body, "state"),
        blame=None if discard is None else _text(discard, "blame"),
        what="" if discard is None else " ".join(str(each) for each in _list(discard, "what")),
    )


def read_opened(body: Json) -> Opened:
    return Opened(
        run=_text(body, "run"),
        attempt=int(_number(body, "attempt")),
        version=_text(body, "version"),
        ahead=None if body.get("ahead") is None else int(_number(body, "ahead")),
        lease_until=_text(body, "lease_until"),
    )


def read_failure(body: Json) -> Failure:
    error = _object(body, "error")
    return Failure(
        code=_text(error, "code"),
        message=_text(error, "message"),
        blame=_one_of(error, "blame", get_args(Blame)),
        admitted=_one_of(error, "admitted", get_args(Admitted)),
        retryable=_bool(error, "retryable"),
        tainted=_bool(error, "tainted"),
        evidence=dict(_object(error, "evidence")),
        rollout_id=_nullable(_text, error, "rollout_id"),
        call_id=_optional(_text, error, "call_id"),
    )


def _exit_code(exited: float | None, signal_name: str | None) -> int | None:
    if exited is not None:
        return int(exited)
    if signal_name is None:
        return None
    known = signal.Signals.__members__.get(signal_name)
    return 128 + (known.value if known is not None else 0)


def _marked(text: str, stream: str, cut: bool) -> str:
    """The wire gives head and tail without a seam: whoever reads only the text must not take it for the whole."""
    if not cut:
        return text
    return f"{text}{'' if text.endswith(chr(10)) else chr(10)}[{stream} was cut: only its head and tail are above]\n"


def _field(body: Json, name: str, *kinds: type) -> Any:
    value = body.get(name)
    # True is an int to Python, and no number to anybody else.
    if (isinstance(value, bool) and bool not in kinds) or not isinstance(value, kinds):
        raise NotCorral(f'the answer has no {kinds[0].__name__} "{name}"')
    return value


def _text(body: Json, name: str) -> str:
    return _field(body, name, str)


def _number(body: Json, name: str) -> float:
    return _field(body, name, float, int)


def _bool(body: Json, name: str) -> bool:
    return _field(body, name, bool)


def _object(body: Json, name: str) -> Json:
    return cast("Json", _field(body, name, dict))


def _list(body: Json, name: str) -> list[object]:
    return _field(body, name, list)


def _optional(read: Callable[[Json, str], T], body: Json, name: str) -> T | None:
    return read(body, name) if name in body else None


def _nullable(read: Callable[[Json, str], T], body: Json, name: str) -> T | None:
    if name not in body:
        raise NotCorral(f'the answer has no "{name}"')
    return None if body[name] is None else read(body, name)


def _one_of(body: Json, name: str, values: tuple[str, ...]) -> Any:
    value = _text(body, name)
    if value not in values:
        raise NotCorral(f'"{value}" is no "{name}"')
    return value
