"""The task of appending lines, of which its set-up has written two."""

from __future__ import annotations

from collections.abc import Iterable

import verifiers.v1 as vf
from appending_lines import AppendsLines

__all__ = ["PreparingTasks"]


class Prepares(AppendsLines):
    async def setup(self, runtime: vf.Runtime) -> None:
        await runtime.write("made/before/line", b"x\n")
        await runtime.run(["sh", "-c", "sleep 3; cat made/before/line > calls"], {})
        assert await runtime.read("calls") == b"x\n"
        # After a read nothing is marked any more.
        await runtime.run(["sh", "-c", "echo x >> calls"], {})
        await runtime.write("more", b"")


class PreparingTasks(vf.Taskset[Prepares]):
    def load(self) -> Iterable[Prepares]:
        yield Prepares(vf.TaskData(id="prepared", prompt="Append lines to calls."), self.config.task)
