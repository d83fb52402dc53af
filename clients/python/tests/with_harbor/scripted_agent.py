"""An agent that runs the commands that its trial's number has in the test, each by Harbor's own `exec`."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import ClassVar

from harbor.agents.base import BaseAgent
from harbor.environments.base import BaseEnvironment, ExecResult
from harbor.models.agent.context import AgentContext


class ScriptedAgent(BaseAgent):
    commands: ClassVar[Sequence[str]] = ()
    timeout_sec: ClassVar[int | None] = None
    fails_after: ClassVar[Exception | None] = None
    numbers: ClassVar[itertools.count[int]] = itertools.count()
    seen: ClassVar[list[ExecResult]] = []
    last: ClassVar[list[str]] = []
    # What ended a command without a result, by its class.
    raised: ClassVar[list[str]] = []

    @staticmethod
    def name() -> str:
        return "scripted"

    def version(self) -> str:
        return "1"

    async def setup(self, environment: BaseEnvironment) -> None:
        """Nothing to install."""

    async def run(self, instruction: str, environment: BaseEnvironment, context: AgentContext) -> None:
        number = next(self.numbers)
        if number == len(self.commands) - 1:
            self.last.append(str(environment.context_id))
        try:
            self.seen.append(await environment.exec(self.commands[number], timeout_sec=self.timeout_sec))
        except Exception as error:
            self.raised.append(type(error).__name__)
            raise
        if self.fails_after is not None:
            raise self.fails_after
