"""The events of a followed command, read from the gateway's stream."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, cast

from .errors import Failure
from .results import NotCorral, read_call, read_failure
from .transport import BrokenOff, Streamed

Stream = Literal["stdout", "stderr"]

# An event has a piece of 64 KiB, or a result without its streams.
LONGEST_EVENT: Final = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Output:
    """What a command printed, at its offset in the stream."""

    stream: Stream
    at: int
    data: bytes

    @property
    def end(self) -> int:
        return self.at + len(self.data)


@dataclass(frozen=True, slots=True)
class Gap:
    """So many bytes from this offset on are no longer kept: they were read too late."""

    stream: Stream
    at: int
    size: int

    @property
    def end(self) -> int:
        return self.at + self.size


@dataclass(frozen=True, slots=True)
class Ended:
    """The command has ended, and all of its output was sent."""


@dataclass(frozen=True, slots=True)
class Alive:
    """A sign of life, or what a newer fleet says: nothing for a reader."""


Event = Output | Gap | Ended | Alive | Failure


class Events:
    """One connection's events."""

    def __init__(self, streamed: Streamed) -> None:
        self._streamed = streamed
        self._chunks: AsyncIterator[bytes] = streamed.chunks()
        self._unread = b""

    async def next(self) -> Event:
        """Raises BrokenOff where the stream ends without its last word, and NotCorral for what is not an event."""
        while True:
            text, is_whole, rest = self._unread.partition(b"\n\n")
            if is_whole:
                self._unread = rest
                return _event(text.decode(errors="replace"))
            if len(text) > LONGEST_EVENT:
                raise NotCorral("an event without end")
            chunk = await anext(self._chunks, None)
            if not chunk:
                raise BrokenOff("the stream ended before the command did")
            self._unread += chunk

    async def close(self) -> None:
        await self._streamed.close()


def _event(text: str) -> Event:
    lines = [line.partition(": ") for line in text.split("\n")]
    fields = {name: value for name, _, value in lines}
    read = _READERS.get(fields.get("event", ""))
    return read(_data(fields.get("data", ""))) if read else Alive()


def _data(text: str) -> dict[str, Any]:
    try:
        data = json.loads(text)
    except ValueError:
        data = None
    if not isinstance(data, dict):
        raise NotCorral("the data of an event is not a JSON object")
    return cast("dict[str, Any]", data)


def _output(data: Mapping[str, Any]) -> Output:
    stream, at = _place(data)
    try:
        return Output(stream, at, b64decode(data.get("base64", None), validate=True))
    except (TypeError, ValueError):
        raise NotCorral("the output of an event is not base64") from None


def _gap(data: Mapping[str, Any]) -> Gap:
    stream, at = _place(data)
    return Gap(stream, at, _count(data, "bytes"))


def _place(data: Mapping[str, Any]) -> tuple[Stream, int]:
    stream: Any = data.get("stream")
    if stream not in ("stdout", "stderr"):
        raise NotCorral(f"{stream!r} is not a stream of a command")
    return stream, _count(data, "at")


def _count(data: Mapping[str, Any], name: str) -> int:
    value = data.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise NotCorral(f'an event has no "{name}"')
    return value


def _ended(data: dict[str, Any]) -> Ended:
    read_call(data)
    return Ended()


_READERS: Final = {"output": _output, "gap": _gap, "end": _ended, "error": read_failure}
