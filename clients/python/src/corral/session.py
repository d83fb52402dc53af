"""What a rollout is to this process: opened once, kept alive, and barred from a score by what failed.

`Rollout` and the commands that it follows send everything through here, so that what happens to one of them counts for all.
"""

from __future__ import annotations

import asyncio
import logging
import weakref
from collections.abc import Callable, Mapping
from dataclasses import replace
from time import monotonic
from typing import Any, Final, TypeVar

from .errors import CorralError, Discarded, Failure, Misuse, Refused, RequirementsUnmet
from .exchange import Asked, Gateway, Reply, exchange, own_failure
from .giving_up import find_reason, never_began
from .heartbeat import keep_alive, lease_s_of
from .leaving import Held, hold, is_held, let_go
from .pool import Pool, pool_of_loop
from .results import NotCorral, Opened, read_opened
from .routes import ATTACH, CANCEL, FINISH, OPEN, VIEW, Route
from .waiting import logging_why
from .writing import json_text

log = logging.getLogger("corral")
T = TypeVar("T")

# Longer than any rollout lives (2 h) or any command runs (1 h): a bound on work that a gateway says goes on.
LONGEST_WORK_S: Final = 3 * 3600.0
FINISH_PATIENCE_S: Final = 30.0
# A file may wait ten minutes for its sandbox, and then the gateway says so.
FILE_SILENT_S: Final = 630.0


class Session:
    def __init__(self, gateway: Gateway, held: Held, open_body: Mapping[str, Any]) -> None:
        self.gateway: Final = gateway
        self.held: Final = held
        self.open_body: Final = open_body
        self.is_over = False
        self.barred: CorralError | None = None
        self.misused: Misuse | None = None
        self.takes_setup = True
        self._opened: Opened | None = None
        self._opening: asyncio.Lock | None = None
        self._finishing: asyncio.Task[None] | None = None
        self._given_up: Final[set[asyncio.Task[None]]] = set()
        self._is_served = False

    @property
    def rollout_id(self) -> str:
        return self.held.rollout_id

    async def open(self) -> Opened:
        self.check()
        self._opening = self._opening or asyncio.Lock()
        async with self._opening:
            self.check()
            if self._opened is None:
                self._opened = await self._open()
            return self._opened

    async def finish(self) -> None:
        self.is_over = True
        if not (self._finishing or is_held(self.held)):
            return
        if self._finishing is None:
            self._finishing = (await pool_of_loop()).spawn(self._finish())
        await asyncio.shield(self._finishing)

    async def _open(self) -> Opened:
        pool = await pool_of_loop()
        hold(self.held)
        asked = Asked(OPEN, OPEN.path, text=json_text(self.open_body))
        try:
            reply = await self.barring(pool, asked)
        except (Misuse, Discarded, RequirementsUnmet):
            # It was refused, so there is nothing to let go.
            let_go(self.held)
            raise
        opened = self.read(read_opened, reply)
        if self.is_over:
            await self._finish()
            self.check()
        lease_s = lease_s_of(opened.lease_until, reply.answer)
        pool.spawn(keep_alive(weakref.ref(self), self.held, pool, lease_s))
        return opened

    async def settled(self, asked: Asked, call: str) -> Reply:
        until = monotonic() + LONGEST_WORK_S
        reply = await self.act(asked)
        while reply.status == 202:
            asked = replace(asked, is_new_id=True)
            if monotonic() > until:
                raise self.unending()
            reply = await self._attach(asked, call)
        return reply

    async def settled_before(self, asked: Asked, call: str) -> Reply:
        """Reads the result of a call whose `end` event arrived. A failed read does not bar the rollout from a score."""
        self.check()
        try:
            reply = await exchange(await pool_of_loop(), self.gateway, self.asked(ATTACH, call_id=call))
        except CorralError as error:
            if error.code != "unknown_call":
                raise error.named(self.rollout_id) from None
        else:
            if reply.status != 202:
                return reply
        # Fleet state has forgotten it.
        return await self.settled(asked, call)

    def unending(self) -> CorralError:
        """After longer than anything runs."""
        return self.bar(Discarded(own_failure("still_running", "the call does not end", "infrastructure")))

    async def repeated(self, asked: Asked) -> Reply:
        """For what is known by its rollout alone: sent again while its work goes on."""
        until = monotonic() + LONGEST_WORK_S
        reply = await self.act(asked)
        while reply.status == 202 and monotonic() < until:
            reply = await self.act(asked)
        return reply

    async def _attach(self, asked: Asked, call: str) -> Reply:
        self.check()
        try:
            return await self.heard(await pool_of_loop(), self.asked(ATTACH, call_id=call))
        except CorralError as error:
            # Fleet state may have forgotten the call; its sandbox has not, and a repeat attaches there.
            if error.code == "unknown_call":
                return await self.act(asked)
            raise self.failed(asked, error) from None

    async def give_up_call(self, call: str, began_s: float) -> None:
        """A caller that stops waiting for a command means it to stop, and not to run on next to the following one."""
        await self._give_up(self.asked(CANCEL, call_id=call), began_s)

    async def _give_up(self, asked: Asked, began_s: float) -> None:
        """`asked`: tells whether what was given up had begun. Until that is known, later requests of the rollout wait."""
        waited_s = monotonic() - began_s
        if self.is_over:
            return
        if not self._opened:
            self.bar(never_began(waited_s))
            return
        task = (await pool_of_loop()).spawn(self._learn(asked, waited_s))
        self._given_up.add(task)
        task.add_done_callback(self._given_up.discard)

    async def _learn(self, asked: Asked, waited_s: float) -> None:
        pool = await pool_of_loop()
        patience_s = min(FINISH_PATIENCE_S, self.gateway.patience_s)
        reason = await find_reason(pool, self.gateway, asked, waited_s, patience_s)
        if reason is not None:
            self.bar(reason)

    async def learn_of_given_up(self) -> None:
        while self._given_up:
            await asyncio.wait(self._given_up)

    async def _finish(self) -> None:
        if not is_held(self.held):
            return
        try:
            patience_s = min(FINISH_PATIENCE_S, self.gateway.patience_s)
            await exchange(await pool_of_loop(), self.gateway, self.asked(FINISH), patience_s)
        except (Discarded, Misuse, RequirementsUnmet) as error:
            log.debug("the rollout %s had ended: %s", self.rollout_id, error)
            # An open whose answer was never heard may still land: then it is deleted at the end of the process.
            if self._opened is None and error.code == "rollout_unknown":
                return
        except CorralError as error:
            log.warning("the rollout %s is not finished yet: %s", self.rollout_id, error)
            return
        let_go(self.held)

    async def act(self, asked: Asked) -> Reply:
        self.takes_setup = self.takes_setup and asked.is_setup
        began_s = monotonic()
        try:
            await self.open()
            await self.learn_of_given_up()
            self.check()
            return await self.barring(await pool_of_loop(), asked)
        except asyncio.CancelledError:
            if asked.route.of == "file":
                await self._give_up(self.asked(VIEW), began_s)
            raise

    async def barring(self, pool: Pool, asked: Asked) -> Reply:
        try:
            return await self.heard(pool, asked)
        except CorralError as error:
            raise self.failed(asked, error) from None

    async def heard(self, pool: Pool, asked: Asked) -> Reply:
        try:
            if self._is_served:
                return await exchange(pool, self.gateway, asked)
            with logging_why(pool, self.held, self.open_body, asked):
                reply = await exchange(pool, self.gateway, replace(asked, is_watched=True))
            self._is_served = asked.route is not OPEN
            return reply
        except asyncio.CancelledError:
            # A trainer's own deadline that ran out while the machinery was away is not the policy's slowness: a framework
            # that goes on and grades would make a low score of it.
            if asked.troubles:
                self.bar(asked.troubles[-1])
            raise

    def failed(self, asked: Asked, error: CorralError) -> CorralError:
        """What a request raises. Neither what the policy may have caused nor a probe's mistake keeps the rollout from a score."""
        if isinstance(error, Refused) or (asked.is_probe and isinstance(error, Misuse)):
            return error.named(self.rollout_id)
        return self.bar(error)

    def bar(self, error: CorralError) -> CorralError:
        named = error.named(self.rollout_id)
        if isinstance(named, Misuse):
            self.misused = self.misused or named
        else:
            self.barred = self.barred or named
        return named

    def check_misuse(self) -> None:
        """A score must not come of calls that the job's own mistake has kept from running."""
        self.check()
        if self.misused is not None:
            raise self.misused.once_more()

    def check(self) -> None:
        if self.barred is not None:
            raise self.barred.once_more()
        if self.is_over:
            over = own_failure("rollout_closed", "the rollout was finished here", "caller")
            raise Discarded(replace(over, rollout_id=self.rollout_id))

    def read(self, read: Callable[[dict[str, Any]], T], reply: Reply) -> T:
        try:
            return read(reply.body)
        except NotCorral as stranger:
            raise self.bar(Discarded(_strange(stranger))) from None

    def text(self, body: Mapping[str, Any], *, is_probe: bool) -> str:
        """What is not JSON was never sent: a score must not come of that."""
        try:
            return json_text(body)
        except Misuse as error:
            raise (error.named(self.rollout_id) if is_probe else self.bar(error)) from None

    def asked(self, route: Route, body: Mapping[str, Any] | None = None, **rest: Any) -> Asked:
        names = {name: rest.pop(name) for name in ("path", "call_id", "terminal") if name in rest}
        text = None if body is None else self.text(body, is_probe=rest.get("is_probe", False))
        path = route.at(id=self.rollout_id, **names)
        query = {**self.held.query, **rest.pop("query", {})}
        return Asked(route, path, query=query, text=text, **rest)


def _strange(stranger: NotCorral) -> Failure:
    return own_failure("not_corral", f"the gateway's answer cannot be read: {stranger}", "infrastructure")
