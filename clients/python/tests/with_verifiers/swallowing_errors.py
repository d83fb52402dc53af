"""The same task with the mistake that is made most: whatever goes wrong is worth 0."""

from __future__ import annotations

from collections.abc import Iterable

import verifiers.v1 as vf

__all__ = ["SwallowingErrors"]


class SwallowsErrors(vf.Task[vf.TaskData, vf.State]):
    @vf.reward
    async def lines(self, runtime: vf.Runtime) -> float:
        try:
            return float((await runtime.run(["sh", "-c", "sleep 2; wc -l < calls"], {})).stdout)
        except Exception:
            return 0.0


class SwallowingErrors(vf.Taskset[SwallowsErrors]):
    def load(self) -> Iterable[SwallowsErrors]:
        yield SwallowsErrors(vf.TaskData(id="lines", prompt="Append lines to calls."), self.config.task)
