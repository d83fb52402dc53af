"""A taskset of one task: append lines to a file. What that is worth says the environment's grader."""

from __future__ import annotations

from collections.abc import Iterable

import verifiers.v1 as vf

from corral.verifiers import CorralRuntime

__all__ = ["AppendingLines"]


class AppendsLines(vf.Task[vf.TaskData, vf.State]):
    @vf.reward
    async def lines(self, trace: vf.Trace, runtime: CorralRuntime) -> float:
        return await runtime.grade({"output_text": trace.last_reply})


class AppendingLines(vf.Taskset[AppendsLines]):
    def load(self) -> Iterable[AppendsLines]:
        yield AppendsLines(vf.TaskData(id="lines", prompt="Append lines to calls."), self.config.task)
