"""A taskset whose task counts lines in its sandbox, and a harness that runs a test's commands there, in place of a model."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import verifiers.v1 as vf
from verifiers.v1.clients import ModelContext

__all__ = ["RunningLines", "ScriptedHarness"]


class CountsLines(vf.Task[vf.TaskData, vf.State]):
    seconds: ClassVar[float] = 0

    @vf.reward
    async def lines(self, runtime: vf.Runtime) -> float:
        counted = await runtime.run(["sh", "-c", f"sleep {self.seconds}; wc -l < calls"], {})
        return float(counted.stdout or 0)


class RunningLines(vf.Taskset[CountsLines]):
    image: ClassVar[str] = ""

    def load(self) -> Iterable[CountsLines]:
        data = vf.TaskData(id="lines", prompt="Append lines to calls.", image=self.image)
        yield CountsLines(data, self.config.task)


class ScriptedHarness(vf.Harness[vf.HarnessConfig]):
    """Each trace's command, by its id; `ran`: what came of it."""

    commands: ClassVar[dict[str, str]] = {}
    ran: ClassVar[dict[str, vf.ProgramResult]] = {}

    async def launch(
        self,
        ctx: ModelContext,
        trace: vf.Trace,
        runtime: vf.Runtime,
        endpoint: str,
        secret: str,
        mcp_urls: dict[str, str],
        data: vf.TaskData,
    ) -> vf.ProgramResult:
        self.ran[trace.id] = await runtime.run_program(["sh", "-c", self.commands[trace.id]], {})
        return vf.ProgramResult(0, "", "")
