"""How a followed command is sent: by the first that needs it, and again where fleet state has forgotten it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from time import monotonic
from typing import Final

from .exchange import FIRST_PAUSE_S, Asked, Reply
from .session import LONGEST_WORK_S, Session


class Sending:
    def __init__(self, session: Session, asked: Asked, call_id: str) -> None:
        self.session: Final = session
        self.call_id: Final = call_id
        self._asked = asked
        self._until = monotonic() + LONGEST_WORK_S
        self._beginning: asyncio.Lock | None = None
        self._sent_s: float | None = None
        self._is_accepted = False
        self._has_begun = False
        self._is_given_up = False

    async def start(self) -> None:
        """Waits until the fleet has begun with it."""
        self.session.check()
        self._check_time()
        self._beginning = self._beginning or asyncio.Lock()
        async with self.giving_up_unbegun(), self._beginning:
            while not self._is_accepted:
                self._note_sending()
                reply = await self.session.act(self._asked)
                self._is_accepted = reply.status != 202 or reply.body.get("sent") is True
                if not self._is_accepted:
                    # The time of the request was over before.
                    await asyncio.sleep(FIRST_PAUSE_S)
                    self._check_time()
            self._asked = replace(self._asked, is_new_id=True)
            self._has_begun = True

    async def start_again(self) -> None:
        """After `unknown_call`: it has not arrived yet, or fleet state has forgotten it. It is sent again, and runs once."""
        self._is_accepted = False
        await asyncio.sleep(FIRST_PAUSE_S)

    async def settled(self, *, was_heard: bool) -> Reply:
        """How the command ended. `was_heard`: its end came over the stream."""
        self._note_sending()
        settled = self.session.settled_before if was_heard else self.session.settled
        reply = await settled(self._asked, self.call_id)
        self._is_accepted = True
        return reply

    @asynccontextmanager
    async def giving_up_unbegun(self) -> AsyncGenerator[None, None]:
        """A caller that is cancelled before the fleet has begun with the command gives it up, as with `exec`."""
        try:
            yield
        except asyncio.CancelledError:
            if not self._has_begun:
                await self.give_up()
            raise

    async def give_up(self) -> None:
        if self._sent_s is not None and not self._is_given_up:
            self._is_given_up = True
            await self.session.give_up_call(self.call_id, self._sent_s)

    def _note_sending(self) -> None:
        if self._sent_s is None:
            self._sent_s = monotonic()

    def _check_time(self) -> None:
        if monotonic() > self._until:
            raise self.session.unending()
