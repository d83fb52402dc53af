"""The task of appending lines, of which its set-up has written two."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import verifiers.v1 as vf
from appending_lines import AppendsLines

__all__ = ["PreparingTasks"]

TIME_TO_DIE_S = 8


class Prepares(AppendsLines):
    async def setup(self, trace: vf.Trace, runtime: vf.Runtime) -> None:  # noqa: ARG002
        await runtime.write("made/before/line", b"x\n")
        await runtime.run(["sh", "-c", "cat made/before/line > calls"], {})
        await asyncio.sleep(TIME_TO_DIE_S)
        assert await runtime.read("calls") == b"x\n"
        # After a read nothing is marked any more.
        await runtime.run(["sh", "-c", "echo x >> calls"], {})
        await runtime.write("more", b"")


class PreparingTasks(vf.Taskset[Prepares]):
    def load(self) -> Iterable[Prepares]:
        yield Prepares(vf.TaskData(id="prepared", prompt="Append lines to calls."), self.config.task)
