"""The same task, graded by itself: the environment leaves grading to it."""

from __future__ import annotations

from collections.abc import Iterable

import verifiers.v1 as vf

import corral

__all__ = ["CountingLines"]


class CountsLines(vf.Task[vf.TaskData, vf.State]):
    @vf.reward
    async def lines(self, runtime: vf.Runtime) -> float:
        try:
            return (await runtime.read("calls")).count(b"\n")
        except corral.Refused:
            # The policy never wrote one.
            return 0.0


class CountingLines(vf.Taskset[CountsLines]):
    def load(self) -> Iterable[CountsLines]:
        yield CountsLines(vf.TaskData(id="lines", prompt="Append lines to calls."), self.config.task)
