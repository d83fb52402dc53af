"""The client's page runs as it is written."""

from __future__ import annotations

import ast
import re
import sys
from statistics import mean
from typing import Any

import pytest
from fleet import REPOSITORY, Fleet

import corral

PAGE = (REPOSITORY / "docs/clients/python.md").read_text()


async def play(block: int, given: dict[str, Any]) -> dict[str, Any]:
    """What a block of the page has assigned. Its `await`s are for a program that has a loop already."""
    text = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)[block]
    work = eval(compile(text, "python.md", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), given)
    if work is not None:
        await work
    return given


async def test_the_lines_to_copy_give_a_reward(fleet: Fleet, run: str, monkeypatch: pytest.MonkeyPatch):
    for name, value in {"CORRAL_URL": fleet.url, "CORRAL_KEY": fleet.key, "CORRAL_RUN": run}.items():
        monkeypatch.setenv(name, value)
    assert (await play(0, {}))["reward"] == 1


async def test_a_command_is_followed_as_the_page_shows(fleet: Fleet, run: str):
    async with corral.Rollout("shell", item={"answer": "42"}, client=fleet.client(run)) as rollout:
        assert (await play(1, {"corral": corral, "rollout": rollout, "sys": sys}))["result"].exit_code != 0


async def test_what_was_lost_is_left_out_as_the_page_shows(fleet: Fleet, run: str):
    async def lost(rollout: corral.Rollout) -> float:
        await rollout.exec("true")
        fleet.kill_sandbox_of(rollout.rollout_id)
        return (await rollout.grade()).score

    async with corral.Rollout("shell", item={"answer": "42"}, client=fleet.client(run)) as rollout:
        reward = (await play(2, {"corral": corral, "play": lost, "rollout": rollout}))["reward"]
    assert reward is None
    assert mean(each for each in (1, 3, 2, reward) if each is not None) == 2.0
