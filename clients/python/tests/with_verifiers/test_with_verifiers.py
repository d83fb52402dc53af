"""verifiers itself plays four rollouts of one task on a real fleet: what prime-rl's mean becomes."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

import pytest
import verifiers.v1 as vf
from faults import FAULTY_TIMES, SEEDS, SLOW_APPEND, expect_truth, faults
from fleet import REPOSITORY, Fleet, eventually, write_rows
from moments import MOMENTS, TIMES, Losing, Moment, expect_report, expect_two_or_healed, scripts
from scripted_model import ScriptedModel, scripted_model
from verifiers.v1.clients import ModelContext
from verifiers.v1.env import Env, RunSlot
from verifiers.v1.utils.format import format_mean
from verifiers.v1.utils.loaders import load_environment, resolve_env_config

import corral

APPEND = "echo x >> calls"
MAIN = "from verifiers.v1.cli.eval.main import main; main()"
Disturb = Callable[[str], Awaitable[None]]


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with scripted_model() as started:
        yield started


@pytest.fixture(autouse=True)
def address(fleet: Fleet, run: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"CORRAL_URL": fleet.url, "CORRAL_KEY": fleet.key, "CORRAL_RUN": run}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("SCRIPTED_KEY", "none")


def environment(name: str, taskset: str | dict[str, str] = "appending_lines", **options: Any) -> Env[Any]:
    """As `--env.id corral_verifiers --env.environment NAME --env.taskset.id TASKSET` builds it."""
    chosen = {"id": taskset} if isinstance(taskset, str) else taskset
    blocks = {"id": "corral_verifiers", "environment": name, "taskset": chosen, **options}
    return load_environment(resolve_env_config(blocks))


async def play(
    env: Env[Any],
    model: ScriptedModel,
    scripts: Sequence[Sequence[str]],
    disturb: Disturb | None = None,
) -> list[vf.Episode]:
    """An episode of each script. `disturb` is told the last one's rollout as soon as it has a sandbox."""
    client = vf.EvalClientConfig(base_url=model.url, api_key_var="SCRIPTED_KEY")
    ctx = ModelContext(model="scripted", client=client, sampling=vf.SamplingConfig())
    task = next(iter(env.taskset))
    minted: asyncio.Future[vf.Trace] = asyncio.get_running_loop().create_future()

    async def one(slot: RunSlot, script: Sequence[str], is_last: bool) -> vf.Episode:
        def on_trace(trace: vf.Trace) -> None:
            model.scripts[trace.id] = script
            if is_last:
                minted.set_result(trace)

        return await env.run_slot(slot, ctx, on_trace=on_trace)

    async with env.serving():
        slots = env.slots(task, len(scripts))
        playing = asyncio.gather(
            *(one(slot, script, slot is slots[-1]) for slot, script in zip(slots, scripts, strict=True))
        )
        if disturb is not None:
            trace = await minted
            await disturb(await asyncio.to_thread(eventually, lambda: sandbox_of(trace), "it has a sandbox"))
        return await playing


def sandbox_of(trace: vf.Trace | vf.WireTrace) -> str | None:
    return None if trace.agent is None or trace.agent.runtime is None else trace.agent.runtime.id


def rewards(episodes: Sequence[vf.Episode]) -> list[float | None]:
    """As prime-rl takes them: a trace that is not `ok` is in no mean."""
    return [trace.reward if trace.ok else None for episode in episodes for trace in episode.traces]


def expect_one_lost(fleet: Fleet, run: str, episodes: Sequence[vf.Episode]) -> None:
    assert rewards(episodes) == [1, 3, 2, None]
    assert mean(each for each in rewards(episodes) if each is not None) == 2.0
    traces = [trace for episode in episodes for trace in episode.traces]
    # The headline of `eval`: the mean over what did not fail, and in brackets the one that a zero would make.
    assert format_mean(traces, lambda trace: trace.reward) == "2.00 (1.50)"
    lost = traces[-1]
    assert lost.last_error is not None
    assert (lost.last_error.type, lost.rewards.get("lines")) == ("SandboxError", None)
    assert [episode.ok for episode in episodes] == [True, True, True, False]
    expect_report(fleet, run, lost=True)


@pytest.mark.parametrize("moment", MOMENTS)
async def test_of_four_episodes_the_one_that_loses_its_sandbox_has_no_reward_or_is_healed(
    fleet: Fleet, run: str, model: ScriptedModel, moment: Moment
):
    losing = Losing(fleet, run, moment)
    last: list[str] = []

    async def disturb(rollout: str) -> None:
        last.append(rollout)
        await asyncio.to_thread(losing.watch, rollout)

    def begins(session: str, turn: int) -> None:
        # The script of no other rollout is as long.
        if len(model.scripts[session]) >= TIMES[-1]:
            losing.begins(eventually(lambda: last[:1], "its sandbox is known")[0], turn)

    model.begins = begins
    name = "slow-grader" if moment == "while it is graded" else "counting"
    episodes = await play(environment(name), model, scripts(moment), disturb)
    if expect_two_or_healed(moment, rewards(episodes)):
        expect_one_lost(fleet, run, episodes)
    else:
        expect_report(fleet, run, lost=False)


async def test_killed_between_calls_of_its_set_up_it_is_scored_in_the_next_sandbox(
    fleet: Fleet, run: str, model: ScriptedModel
):
    names: list[str] = []

    async def disturb(rollout: str) -> None:
        def prepares() -> bool:
            told = fleet.rollout(rollout, run)
            return not told.get("in_flight") and len(told["calls"]) == 4

        await asyncio.to_thread(eventually, prepares, "its task is set up")
        await asyncio.to_thread(fleet.kill_sandbox_of, rollout)
        names.append(rollout)

    env = environment("counting", "preparing_tasks")
    assert rewards(await play(env, model, [[], [APPEND]], disturb)) == [2, 3]
    assert [fleet.rollout(name, run)["heals"] for name in names] == [1]
    assert fleet.report(run)["discarded"] == 0


@pytest.mark.seeds
@pytest.mark.parametrize("seed", SEEDS)
async def test_faults_by_chance_make_no_false_zero_and_run_nothing_twice(
    fleet: Fleet, run: str, model: ScriptedModel, seed: int
):
    with faults(fleet, run, seed):
        slow = [[SLOW_APPEND] * times for times in FAULTY_TIMES]
        episodes = await play(environment("faulty"), model, slow)
    expect_truth(fleet, run, rewards(episodes))


async def test_where_the_task_grades_by_itself_its_rewards_are_in_the_report(
    fleet: Fleet, run: str, model: ScriptedModel
):
    scripts = [[APPEND], [APPEND] * 3, [APPEND] * 2, []]
    env = environment("own-score", "counting_lines")
    assert rewards(await play(env, model, scripts)) == [1, 3, 2, 0]
    report = fleet.report(run)
    assert (report["scored"], [line["mean"] for line in report["groups"]]) == (4, [1.5])


async def test_a_task_that_makes_a_zero_of_every_error_has_none_for_what_was_lost(
    fleet: Fleet, run: str, model: ScriptedModel
):
    scripts = [[APPEND] * times for times in (1, 3, 2, 4)]

    async def disturb(rollout: str) -> None:
        def is_counted() -> bool:
            told = fleet.rollout(rollout, run)
            return len(told["calls"]) == 6 and told["in_flight"] == 1

        await asyncio.to_thread(eventually, is_counted, "its lines are counted")
        fleet.kill_sandbox_of(rollout)

    expect_one_lost(
        fleet, run, await play(environment("own-score", "swallowing_errors"), model, scripts, disturb)
    )


async def test_the_models_own_time_out_is_told_to_it_and_scored(fleet: Fleet, run: str, model: ScriptedModel):
    [episode] = await play(environment("counting"), model, [["echo x >> calls; sleep 60"]])
    assert rewards([episode]) == [1]
    [session] = model.seen.values()
    assert session[-1]["content"] == "[timed out after 5 s]"
    assert fleet.report(run)["discarded"] == 0


async def test_a_trace_can_be_read_where_neither_we_nor_the_task_are_installed(
    model: ScriptedModel,
):
    [episode] = await play(environment("counting"), model, [[APPEND]])
    read = vf.WireTrace.model_validate_json(json.dumps(episode.traces[0].to_record()))
    assert (read.ok, read.reward) == (True, 1)
    assert sandbox_of(episode.traces[0]) == sandbox_of(read)


def test_a_row_that_the_grader_cannot_use_ends_the_job_and_is_no_discard(model: ScriptedModel):
    with pytest.raises(SystemExit, match="answer"):
        asyncio.run(play(environment("shell"), model, [[APPEND]]))


async def test_a_wrong_key_or_environment_stops_the_job_before_any_rollout(
    model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
):
    with pytest.raises(corral.Misuse, match="unknown_environment"):
        await play(environment("no-such"), model, [[APPEND]])
    monkeypatch.setenv("CORRAL_KEY", "corral_trainer_wrong")
    with pytest.raises(corral.Misuse, match="unauthorized"):
        await play(environment("counting"), model, [[APPEND]])


def test_the_example_runs_as_its_page_says(fleet: Fleet, model: ScriptedModel, run: str, tmp_path: Path):
    command = re.findall(
        r"```sh\n(.*?)```", (REPOSITORY / "docs/clients/verifiers.md").read_text(), re.DOTALL
    )[-1]
    model.answer = "42"
    # Scripts of a cached environment name the place where it was made.
    program = tmp_path / "vf-eval"
    program.write_text(f"#!/bin/sh\nexec {sys.executable} -c '{MAIN}' \"$@\"\n")
    program.chmod(0o755)
    programs = f"{tmp_path}:{os.environ['PATH']}"
    own = os.environ["PYTHONPATH"]
    given = {"PATH": programs, "MODEL_URL": model.url, "MODEL_KEY": "none", "MODEL": "scripted"}
    (tmp_path / "clients").symlink_to(REPOSITORY / "clients")
    played = subprocess.run(
        ["sh", "-ec", command.replace("PYTHONPATH=", f"PYTHONPATH={own}:", 1)],
        cwd=tmp_path,
        env={**os.environ, **given, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert played.returncode == 0, played.stderr
    report = fleet.report(run)
    assert (report["scored"], sorted(line["mean"] for line in report["groups"])) == (8, [0, 1])


async def test_rows_that_the_fleet_wrote_are_asked_as_their_prompt_says_and_graded_by_what_no_model_read(
    fleet: Fleet, run: str, model: ScriptedModel, tmp_path: Path
):
    taskset = {"id": "corral_rows", "file": str(write_rows("verifiers", tmp_path / "rows.jsonl"))}
    env = environment("asked", taskset=taskset)
    model.answer = "forty-two"
    assert rewards(await play(env, model, [[], []])) == [1, 1]
    [asked, _] = model.seen.values()
    assert [(each["role"], each["content"]) for each in asked] == [
        ("system", "Be brief."),
        ("user", "What is 6 * 7?"),
    ]
    assert len(fleet.report(run)["groups"]) == 1


@pytest.mark.parametrize(
    "requirement", ["memory", "cpu", "disk", "gpu", "workdir", "timeout", "user", "network"]
)
async def test_a_demand_that_is_not_met_is_an_episode_without_a_reward_and_is_not_played_again(
    fleet: Fleet, run: str, model: ScriptedModel, requirement: str
):
    def taskset(kind: str) -> dict[str, str]:
        return {"id": "demanding_tasks", "kind": kind}

    env = environment("own-score", taskset(requirement), retries={"max_retries": 3})
    [episode] = await play(env, model, [[]])
    [error] = episode.errors
    assert (error.type, error.message.split(": ")[0]) == ("RequirementsUnmet", requirement)
    assert (episode.ok, episode.traces, model.seen) == (False, [], {})

    [healthy] = await play(environment("own-score", taskset("none")), model, [[]])
    assert rewards([healthy]) == [1]
    report = fleet.report(run)
    assert (report["scored"], set(report["blame"]) <= {"caller"}) == (1, True)


@pytest.mark.parametrize("kind", ["nan-reward", "slow-reward"])
async def test_a_reward_that_is_missing_is_not_a_zero(
    fleet: Fleet, run: str, model: ScriptedModel, kind: str
):
    env = environment("own-score", {"id": "demanding_tasks", "kind": kind})
    [episode] = await play(env, model, [[]])
    [trace] = episode.traces
    assert trace.last_error is not None
    assert (trace.ok, trace.rewards, trace.last_error.type) == (False, {}, "RewardMissing")
    assert fleet.report(run)["scored"] == 0
