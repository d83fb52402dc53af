"""A command that is followed while it runs: what it prints, piece by piece, and its stdin.

The stream only shows what happens. How the command ended is what attaching to its call says, as with `exec`, and a stream that
breaks is connected again at the byte where it broke.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from time import monotonic
from types import TracebackType
from typing import Any, Final, Self

from .errors import CorralError, Failure
from .events import Ended, Events, Gap, Output, Stream
from .exchange import (
    FIRST_PAUSE_S,
    Again,
    Asked,
    Reply,
    Tries,
    judge,
    of_broken_stream,
    of_failure,
    request_of,
)
from .pool import Pool, pool_of_loop
from .results import CallResult, NotCorral, read_binary_call
from .routes import STDIN, STREAM
from .session import LONGEST_WORK_S, Session
from .transport import BrokenOff, Streamed, send_for_stream

# Of one request for stdin; the fleet takes up to four times as much.
STDIN_PIECE_BYTES: Final = 256 * 1024
# The gateway says something every 15 s.
STREAM_SILENT_S: Final = 60.0


class Running:
    """A command that was started by `Rollout.stream`: iterate it for what it prints, as `async with` or not.

    The iteration ends when the command has ended. What hinders it, a stream that breaks off too, is tried again, and raised as by
    `exec` where that does not help. Leaving `async with` before the end stops the command.
    """

    def __init__(self, session: Session, asked: Asked, call_id: str) -> None:
        self.call_id: Final = call_id
        self._session = session
        self._asked = asked
        self._beginning: asyncio.Lock | None = None
        self._is_sent = False
        self._sent_s = 0.0
        self._is_accepted = False
        self._has_begun = False
        self._is_over = False
        self._has_result = False
        self._at: dict[Stream, int] = {"stdout": 0, "stderr": 0}
        self._following = session.asked(STREAM, call_id=call_id)
        self._tries: Tries | None = None
        self._connected: Events | None = None
        self._written = 0
        self._until = monotonic() + LONGEST_WORK_S

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._disconnect()
        if self._is_sent and not (self._is_over or self._has_result):
            await self._session.give_up_call(self.call_id, self._sent_s)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Output | Gap:
        """Once the fleet has begun with the command, a call that is cancelled loses nothing: the next one goes on at the same
        byte. Before, it gives the command up, as with `exec`."""
        try:
            while not self._is_over:
                event = await self._next_event()
                if event is not None:
                    return event
        except asyncio.CancelledError:
            # As in `exec`: a deadline of the trainer's own that ran out while the machinery was away is not the policy's.
            if self._following.troubles:
                self._session.bar(self._following.troubles[-1])
            await self._disconnect()
            await self._give_up_unbegun()
            raise
        except CorralError as error:
            await self._disconnect()
            raise self._session.failed(self._following, error) from None
        raise StopAsyncIteration

    async def start(self) -> None:
        """Sends the command. Every other use does so by itself."""
        self._session.check()
        self._beginning = self._beginning or asyncio.Lock()
        async with self._beginning:
            if not self._is_accepted:
                self._note_sending()
                await self._session.act(self._asked)
                self._asked = replace(self._asked, is_new_id=True)
                self._is_accepted = True

    async def write(self, data: bytes | str) -> bool:
        """Gives the command these bytes; waits until it reads. False once it has ended, or has closed its stdin. Needs
        `open_stdin`."""
        left = data.encode(errors="replace") if isinstance(data, str) else data
        while left:
            piece = left[:STDIN_PIECE_BYTES]
            received, is_open = await self._give(piece, is_last=False)
            if not is_open:
                return False
            left = left[received:]
        return True

    async def end_stdin(self) -> None:
        """Nothing more is written."""
        await self._give(b"", is_last=True)

    async def result(self) -> CallResult:
        """How the command ended, as `exec` returns it, with the bytes that are kept of its streams. Waits for its end."""
        self._note_sending()
        try:
            reply = await self._session.settled(self._asked, self.call_id)
        except asyncio.CancelledError:
            await self._session.give_up_call(self.call_id, self._sent_s)
            raise
        self._is_accepted = self._has_result = True
        return self._session.read(read_binary_call, reply)

    def _note_sending(self) -> None:
        if not self._is_sent:
            self._is_sent, self._sent_s = True, monotonic()

    async def _give_up_unbegun(self) -> None:
        if self._is_sent and not self._has_begun:
            await self._session.give_up_call(self.call_id, self._sent_s)

    async def _give(self, piece: bytes, *, is_last: bool) -> tuple[int, bool]:
        """How many of the bytes the fleet has now, and whether the command reads."""
        query = {"offset": str(self._written), **({"end": "true"} if is_last else {})}
        while True:
            await self.start()
            asked = self._session.asked(STDIN, call_id=self.call_id, query=query, content=piece)
            try:
                reply = await self._session.heard(await pool_of_loop(), asked)
            except asyncio.CancelledError:
                await self._give_up_unbegun()
                raise
            except CorralError as error:
                # The fleet has forgotten the call before its sandbox had it: it is sent again, and runs once.
                if error.code == "unknown_call" and monotonic() < self._until:
                    self._is_accepted = False
                    continue
                raise self._session.failed(asked, error) from None
            received, is_open = self._session.read(_read_stdin, reply)
            self._has_begun = True
            taken = max(0, received - self._written)
            self._written += taken
            return taken, is_open

    async def _next_event(self) -> Output | Gap | None:
        """None where there is nothing for the reader in it."""
        pool = await pool_of_loop()
        await self.start()
        tries = self._tries = self._tries or Tries(pool, self._session.gateway, self._following)
        found = await self._heard(pool, tries)
        match found:
            case Output() | Gap():
                self._at[found.stream] = found.end
            case Ended():
                self._is_over = True
                await self._disconnect()
            case Again():
                await self._disconnect()
                # The time of one request is over, and the command runs on.
                if found.error.code != "still_running":
                    await tries.pause(found)
                    return None
            case CorralError():
                if found.code != "unknown_call" or monotonic() > self._until:
                    raise found
                # It has not been sent yet, or fleet state has forgotten it.
                self._is_accepted = False
                await asyncio.sleep(FIRST_PAUSE_S)
                return None
        self._tries = None
        self._following.troubles.clear()
        return found if isinstance(found, Output | Gap) else None

    async def _heard(self, pool: Pool, tries: Tries) -> Output | Gap | Ended | Again | CorralError:
        gateway, asked = self._session.gateway, self._following
        try:
            if not self._connected:
                found = await self._connect(pool, tries)
                if not isinstance(found, Events):
                    return found
                self._connected = found
            event = await self._connected.next()
        except (BrokenOff, NotCorral) as error:
            return of_broken_stream(gateway, asked, str(error))
        return of_failure(asked, event) if isinstance(event, Failure) else event

    async def _connect(self, pool: Pool, tries: Tries) -> Events | Again | CorralError:
        gateway, asked = self._session.gateway, self._following
        offset = {"offset": f"{self._at['stdout']}-{self._at['stderr']}"}
        at_offset = replace(asked, query={**asked.query, **offset})
        request = replace(request_of(gateway, at_offset, tries.left_s), silent_s=STREAM_SILENT_S)
        answer = await send_for_stream(pool.http, request)
        if isinstance(answer, Streamed):
            pool.met.add(gateway.url)
            # The fleet has the call, so its time is the policy's from now on.
            self._has_begun = True
            return Events(answer)
        found = judge(pool, gateway, asked, answer)
        return of_broken_stream(gateway, asked, "it is not a stream") if isinstance(found, Reply) else found

    async def _disconnect(self) -> None:
        if self._connected is not None:
            connected, self._connected = self._connected, None
            await connected.close()


def _read_stdin(body: Mapping[str, Any]) -> tuple[int, bool]:
    received, is_open = body.get("received"), body.get("open")
    if not isinstance(received, int) or not isinstance(is_open, bool):
        raise NotCorral("it does not say what stdin has")
    return received, is_open
