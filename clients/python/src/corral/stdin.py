"""The stdin of a followed command: bytes are given at their offset, so that a piece that is sent again is not given twice."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from .errors import CorralError
from .exchange import FIRST_PAUSE_S
from .pool import pool_of_loop
from .results import NotCorral
from .routes import STDIN
from .sending import Sending

# Of one request; the fleet takes up to four times as much.
PIECE_BYTES: Final = 256 * 1024


class Stdin:
    def __init__(self, sending: Sending) -> None:
        self._sending = sending
        self._writing: asyncio.Lock | None = None
        self._unwritten = bytearray()
        self._written = 0
        self._is_to_end = False
        self._is_closed = False

    async def write(self, data: bytes) -> bool:
        """False if the command did not take them all. If cancelled, the next write gives these bytes first."""
        if self._is_closed:
            return False
        self._unwritten += data
        end = self._written + len(self._unwritten)
        await self._flush()
        return self._written >= end

    async def end(self) -> None:
        self._is_to_end = True
        await self._flush()

    async def _flush(self) -> None:
        """Until all is given that was to be written. What is in flight stays in `_unwritten` until the fleet has it: sent
        again at the same offset, it is not given twice."""
        self._writing = self._writing or asyncio.Lock()
        async with self._sending.giving_up_unbegun(), self._writing:
            while not self._is_closed and (self._unwritten or self._is_to_end):
                piece = bytes(self._unwritten[:PIECE_BYTES])
                is_last = self._is_to_end and len(piece) == len(self._unwritten)
                received, is_open = await self._give(piece, is_last=is_last)
                taken = max(0, min(received - self._written, len(piece)))
                self._written += taken
                del self._unwritten[:taken]
                self._is_closed = not is_open
                if is_open and not taken:
                    await asyncio.sleep(FIRST_PAUSE_S)
            if self._is_closed:
                self._unwritten.clear()

    async def _give(self, piece: bytes, *, is_last: bool) -> tuple[int, bool]:
        """How many bytes of stdin the fleet has now, and whether the command reads."""
        session = self._sending.session
        query = {"offset": str(self._written), **({"end": "true"} if is_last else {})}
        while True:
            await self._sending.start()
            asked = session.asked(STDIN, call_id=self._sending.call_id, query=query, content=piece)
            try:
                reply = await session.heard(await pool_of_loop(), asked)
            except CorralError as error:
                if error.code != "unknown_call":
                    raise session.failed(asked, error) from None
                await self._sending.start_again()
            else:
                if reply.status != 202:
                    return session.read(_read_stdin, reply)
                # The time of the request was over, and the piece may have been given or not.
                await asyncio.sleep(FIRST_PAUSE_S)


def _read_stdin(body: Mapping[str, Any]) -> tuple[int, bool]:
    received, is_open = body.get("received"), body.get("open")
    if not isinstance(received, int) or isinstance(received, bool) or not isinstance(is_open, bool):
        raise NotCorral("it does not say what stdin has")
    return received, is_open
