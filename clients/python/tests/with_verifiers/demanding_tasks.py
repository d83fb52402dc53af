"""A taskset of one task that demands something, or whose reward goes missing, as its configuration says."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterable
from typing import Any

import verifiers.v1 as vf

__all__ = ["DemandingTasks"]

DEMANDS: dict[str, dict[str, Any]] = {
    "none": {},
    "memory": {"resources": {"memory": 32768}},
    "cpu": {"resources": {"cpu": 4000}},
    "disk": {"resources": {"disk": 1_000_000}},
    "gpu": {"resources": {"gpu": "H100"}},
    "workdir": {"workdir": "/no-such-folder"},
    "timeout": {"timeout": {"scoring": 7200}},
    "user": {"agent_user": "dev"},
    "network": {"network_block": ["example.com"]},
    "slow-reward": {"timeout": {"scoring": 0.2}},
}


class DemandingConfig(vf.TasksetConfig):
    kind: str = "none"


class Demands(vf.Task[vf.TaskData, vf.State]):
    @vf.reward
    async def reward(self) -> float:
        if self.data.name == "slow-reward":
            await asyncio.sleep(60)
        return math.nan if self.data.name == "nan-reward" else 1.0


class DemandingTasks(vf.Taskset[Demands, DemandingConfig]):
    def load(self) -> Iterable[Demands]:
        kind = self.config.kind
        data = {"id": kind, "name": kind, "prompt": "Do it.", **DEMANDS.get(kind, {})}
        yield Demands(vf.TaskData.model_validate(data), self.config.task)
