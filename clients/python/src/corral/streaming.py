"""A command that is followed while it runs: what it prints, piece by piece, and its stdin.

The stream only shows what happens. How the command ended is what attaching to its call says, as with `exec`, and a stream that
breaks is connected again at the byte where it broke.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from types import TracebackType
from typing import Final, Self

from .errors import CorralError, Failure, Misuse
from .events import Alive, Ended, Events, Gap, Output, Stream
from .exchange import (
    FIRST_PAUSE_S,
    Again,
    Asked,
    Reply,
    Tries,
    judge,
    of_broken_stream,
    of_failure,
    of_late_request,
    own_failure,
    request_of,
)
from .pool import Pool, pool_of_loop
from .results import CallResult, NotCorral, read_binary_call
from .routes import STREAM
from .sending import Sending
from .session import Session
from .stdin import Stdin
from .transport import Broken, BrokenOff, open_answer

# The gateway says something every 15 s.
STREAM_SILENT_S: Final = 60.0


class Running:
    """A command that `Rollout.stream` has started: iterate it for what it prints, in `async with` or without.

    The iteration ends when the command has ended. What hinders it, a stream that breaks off too, is tried again, and raised as by
    `exec` if that does not help. Leaving `async with` before the end stops the command.
    """

    def __init__(self, session: Session, asked: Asked, call_id: str, *, open_stdin: bool) -> None:
        self.call_id: Final = call_id
        self._session = session
        self._sending = Sending(session, asked, call_id)
        # None: the command was not sent with an open one.
        self._stdin = Stdin(self._sending) if open_stdin else None
        self._following = session.asked(STREAM, call_id=call_id)
        self._at: dict[Stream, int] = {"stdout": 0, "stderr": 0}
        self._connected: Events | None = None
        self._tries: Tries | None = None
        self._signs = 0
        self._is_over = False
        self._has_result = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._disconnect()
        if not (self._is_over or self._has_result):
            await self._sending.give_up()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Output | Gap:
        """Once the fleet has begun with the command, a call that is cancelled loses nothing: the next one goes on at the same
        byte. Before, it gives the command up, as with `exec`."""
        try:
            async with self._sending.giving_up_unbegun():
                while not self._is_over:
                    event = await self._next_event()
                    if event is not None:
                        return event
        except asyncio.CancelledError:
            # As in `exec`: a deadline of the trainer's own that ran out while the machinery was away is not the policy's.
            if self._following.troubles:
                self._session.bar(self._following.troubles[-1])
            await self._disconnect()
            raise
        except CorralError as error:
            await self._disconnect()
            raise self._session.failed(self._following, error) from None
        raise StopAsyncIteration

    async def start(self) -> None:
        """Sends the command, and waits until the fleet has begun with it. Every other use does so by itself."""
        await self._sending.start()

    async def write(self, data: bytes | str) -> bool:
        """Gives the command these bytes; waits until it reads. False if it did not take them all, because it has ended, or has
        closed its stdin. Needs `open_stdin`.

        Several writes at once are given in the order of their calls. One that is cancelled stays in that order: the next write,
        or `end_stdin`, gives its bytes first. So none of them is lost or given twice, and none is to be written again.
        """
        return await self._open_stdin().write(
            data.encode(errors="replace") if isinstance(data, str) else data
        )

    async def end_stdin(self) -> None:
        """Nothing more is written."""
        await self._open_stdin().end()

    def _open_stdin(self) -> Stdin:
        """Checked here, because the same error from the fleet could have been forged by a root command."""
        if self._stdin:
            return self._stdin
        message = "a command takes stdin while it runs only with open_stdin=True"
        raise self._session.bar(Misuse(own_failure("invalid_request", message, "caller")))

    async def result(self) -> CallResult:
        """How the command ended, as `exec` returns it, with the bytes that are kept of its streams. Waits for its end."""
        try:
            reply = await self._sending.settled(was_heard=self._is_over)
        except asyncio.CancelledError:
            if not self._is_over:
                await self._sending.give_up()
            raise
        self._has_result = True
        return self._session.read(read_binary_call, reply)

    async def _next_event(self) -> Output | Gap | None:
        """None where there is nothing for the reader in it."""
        pool = await pool_of_loop()
        await self._sending.start()
        tries = self._tries = self._tries or Tries(pool, self._session.gateway, self._following)
        found = await self._heard(pool, tries)
        match found:
            case Output() | Gap():
                self._at[found.stream] = found.end
            case Alive():
                self._note_sign()
                return None
            case Ended():
                self._is_over = True
                await self._disconnect()
            case Again():
                await self._disconnect()
                if found.error.code != "still_running":
                    await tries.pause(found)
                    return None
                # The time of one request is over, and the command runs on.
                await asyncio.sleep(FIRST_PAUSE_S)
            case CorralError():
                if found.code != "unknown_call":
                    raise found
                await self._sending.start_again()
                return None
        self._tries = None
        self._following.troubles.clear()
        return found if isinstance(found, Output | Gap) else None

    def _note_sign(self) -> None:
        """The first sign of life comes with the connection. A second one shows that the stream works, even if nothing is
        printed."""
        self._signs += 1
        if self._signs > 1:
            self._tries = None

    async def _heard(self, pool: Pool, tries: Tries) -> Output | Gap | Ended | Alive | Again | CorralError:
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
        answer = await open_answer(pool.http, request)
        if not isinstance(answer, Broken):
            if answer.has_events:
                pool.met.add(gateway.url)
                # What stood in its way is over.
                self._signs = 0
                asked.troubles.clear()
                return Events(answer)
            answer = await answer.whole()
        found = judge(pool, gateway, asked, answer)
        if not isinstance(found, Reply):
            return found
        if found.status == 202:
            return of_late_request()
        return of_broken_stream(gateway, asked, "it is not a stream")

    async def _disconnect(self) -> None:
        if self._connected is not None:
            connected, self._connected = self._connected, None
            await connected.close()
