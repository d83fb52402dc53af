"""An agent that runs the command, or the commands, that its trial's number has in the test, by Harbor's own `exec`."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Sequence
from typing import ClassVar

from harbor.agents.base import BaseAgent
from harbor.environments.base import BaseEnvironment, ExecResult
from harbor.models.agent.context import AgentContext


class ScriptedAgent(BaseAgent):
    commands: ClassVar[Sequence[str | Sequence[str]]] = ()
    begins: ClassVar[Callable[[str, int], None] | None] = None
    """Called before each command of the last trial, with its rollout."""
    timeout_sec: ClassVar[int | None] = None
    fails_after: ClassVar[Exception | None] = None
    numbers: ClassVar[itertools.count[int]] = itertools.count()
    seen: ClassVar[list[ExecResult]] = []
    last: ClassVar[list[str]] = []
    # What ended a command without a result, by its class.
    raised: ClassVar[list[str]] = []
    # Its trial goes on to its grade no sooner than this, so that the outage that ended a command does not end the grade too.
    over: ClassVar[asyncio.Event | None] = None

    @staticmethod
    def name() -> str:
        return "scripted"

    def version(self) -> str:
        return "1"

    async def setup(self, environment: BaseEnvironment) -> None:
        """Nothing to install."""

    async def run(self, instruction: str, environment: BaseEnvironment, context: AgentContext) -> None:
        number = next(self.numbers)
        rollout, is_last = str(environment.context_id), number == len(self.commands) - 1
        if is_last:
            self.last.append(rollout)
        own = self.commands[number]
        for turn, command in enumerate([own] if isinstance(own, str) else own):
            if is_last and (begins := type(self).begins) is not None:
                await asyncio.to_thread(begins, rollout, turn)
            await self._exec(environment, command)
        if self.fails_after is not None:
            raise self.fails_after

    async def _exec(self, environment: BaseEnvironment, command: str) -> None:
        try:
            self.seen.append(await environment.exec(command, timeout_sec=self.timeout_sec))
        except Exception as error:
            self.raised.append(type(error).__name__)
            if self.over is not None:
                await self.over.wait()
            raise
