"""Two sums for a model that has a shell: a taskset of verifiers, worked on in sandboxes of Corral.

docs/clients/verifiers.md says how it is run. The environment `shell` grades: its rows have a field `answer`.
"""

from __future__ import annotations

from collections.abc import Iterable

import verifiers.v1 as vf

from corral.verifiers import CorralRuntime

__all__ = ["Arithmetic"]


class Sum(vf.TaskData):
    answer: str


class WorksOut(vf.Task[Sum, vf.State]):
    @vf.reward
    async def is_right(self, trace: vf.Trace, runtime: CorralRuntime) -> float:
        return await runtime.grade({"output_text": trace.last_reply})


class Arithmetic(vf.Taskset[WorksOut]):
    def load(self) -> Iterable[WorksOut]:
        for left, right in ((6, 7), (17, 23)):
            prompt = f"What is {left} * {right}? Use the shell, and answer with the number alone."
            yield WorksOut(
                Sum(id=f"{left}x{right}", prompt=prompt, answer=str(left * right)), self.config.task
            )
