"""Harbor itself runs four trials of one task on a real fleet: which rewards a trainer may take."""

from __future__ import annotations

import asyncio
import itertools
import subprocess
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest
from faults import FAULTY_TIMES, SEEDS, SLOW_APPEND, expect_truth, faults
from fleet import REPOSITORY, Fleet, eventually, write_rows
from harbor.agents.installed.base import NonZeroAgentExitCodeError
from harbor.job import Job
from harbor.models.job.config import JobConfig
from harbor.models.trial.result import TrialResult
from moments import MOMENTS, Losing, Moment, expect_report, expect_two_or_healed, scripts
from scripted_agent import ScriptedAgent
from small_tasks import error_of

from corral.harbor import reward_of

APPEND = "for each in $(seq {}); do echo x >> calls; done"
TEST = "#!/bin/sh\nsleep {}\ntouch calls; wc -l < calls > /logs/verifier/reward.txt\n"
Disturb = Callable[[str], Awaitable[None]]

pytestmark = pytest.mark.usefixtures("address")


@pytest.fixture
def task(tmp_path: Path, image: str) -> Path:
    folder = tmp_path / "appending"
    for each in ("tests", "environment"):
        (folder / each).mkdir(parents=True)
    (folder / "instruction.md").write_text("Append lines to calls.\n")
    (folder / "task.toml").write_text(f'version = "1.0"\n[environment]\ndocker_image = "{image}"\n')
    (folder / "tests/test.sh").write_text(TEST.format(0))
    return folder


async def play(
    task: Path,
    commands: Sequence[str | Sequence[str]],
    disturb: Disturb | None = None,
    timeout_sec: int | None = None,
    *,
    environment: str = "harbor",
    verifier: str | None = None,
    begins: Callable[[str, int], None] | None = None,
) -> list[TrialResult]:
    ScriptedAgent.commands, ScriptedAgent.numbers = commands, itertools.count()
    ScriptedAgent.timeout_sec, ScriptedAgent.seen, ScriptedAgent.last = timeout_sec, [], []
    ScriptedAgent.begins = begins
    config = JobConfig.model_validate(
        {
            "jobs_dir": task.parent / "jobs",
            "n_attempts": len(commands),
            "quiet": True,
            "tasks": [{"path": task}],
            "agents": [{"import_path": "scripted_agent:ScriptedAgent"}],
            "environment": {
                "import_path": "corral.harbor:CorralEnvironment",
                "kwargs": {"environment": environment},
            },
            "verifier": {} if verifier is None else {"import_path": verifier},
        }
    )
    job = await Job.create(config)
    running = asyncio.create_task(job.run())
    if disturb is not None:
        last = await asyncio.to_thread(eventually, lambda: ScriptedAgent.last[:1], "the last agent runs")
        await disturb(last[0])
    result = await running
    trials = job.job_dir.glob("*/result.json")
    assert result.finished_at is not None
    return [TrialResult.model_validate_json(path.read_text()) for path in trials]


def killed_when(fleet: Fleet, run: str, is_so: Callable[[Any], bool]) -> Disturb:
    async def disturb(rollout: str) -> None:
        def look() -> bool:
            told = fleet.rollout(rollout, run)
            return "error" not in told and is_so(told)

        await asyncio.to_thread(eventually, look, "it is where it is to be killed")
        fleet.kill_sandbox_of(rollout)

    return disturb


@pytest.mark.parametrize("moment", MOMENTS)
async def test_of_four_trials_the_one_that_loses_its_sandbox_has_no_reward_or_is_healed(
    fleet: Fleet, run: str, task: Path, moment: Moment
):
    if moment == "while it is graded":
        (task / "tests/test.sh").write_text(TEST.format(6))
    losing = Losing(fleet, run, moment)

    async def disturb(rollout: str) -> None:
        await asyncio.to_thread(losing.watch, rollout)

    trials = await play(task, scripts(moment), disturb, begins=losing.begins)
    is_lost = expect_two_or_healed(moment, [await reward_of(trial) for trial in trials])
    without = [trial for trial in trials if not trial.reward_valid]
    assert [(trial.verifier_result, error_of(trial)) for trial in without] == [
        (None, "HealthcheckError")
    ] * is_lost
    expect_report(fleet, run, is_lost)


@pytest.mark.seeds
@pytest.mark.parametrize("seed", SEEDS)
async def test_faults_by_chance_make_no_false_zero_and_run_nothing_twice(
    fleet: Fleet, run: str, task: Path, seed: int
):
    with faults(fleet, run, seed):
        trials = await play(task, [[SLOW_APPEND] * times for times in FAULTY_TIMES])
    expect_truth(fleet, run, [await reward_of(trial) for trial in trials])


async def test_the_models_own_time_out_is_an_exit_code_and_scored(fleet: Fleet, run: str, task: Path):
    [trial] = await play(task, ["echo x >> calls; sleep 60"], timeout_sec=1)
    assert [each.return_code for each in ScriptedAgent.seen] == [124]
    assert (await reward_of(trial), fleet.report(run)["scored"], fleet.report(run)["discarded"]) == (1, 1, 0)


async def test_an_agents_own_timeout_above_an_hour_ends_nothing(fleet: Fleet, run: str, task: Path):
    [trial] = await play(task, [APPEND.format(2)], timeout_sec=7200)
    assert ([each.return_code for each in ScriptedAgent.seen], await reward_of(trial)) == ([0], 2)
    assert fleet.report(run)["scored"] == 1


async def test_a_policy_that_takes_away_what_is_graded_is_no_lost_sandbox(fleet: Fleet, run: str, task: Path):
    [trial] = await play(task, ["rm -rf /logs/* /tests/*; echo x > /logs/verifier; chmod 0 /tests"])
    assert (trial.reward_valid, await reward_of(trial)) == (True, 0)
    report = fleet.report(run)
    assert (report["scored"], report["discarded"]) == (1, 0)


@pytest.fixture
def own_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent that is installed in the sandbox, and whose program ends with an exit code."""
    monkeypatch.setattr(ScriptedAgent, "fails_after", NonZeroAgentExitCodeError("its program failed"))


@pytest.mark.usefixtures("own_failure")
async def test_lost_in_grading_after_the_policys_own_failure_is_no_zero(fleet: Fleet, run: str, task: Path):
    """Harbor keeps the first exception of a trial, which is the policy's here."""
    (task / "tests/test.sh").write_text(TEST.format(6))
    disturb = killed_when(fleet, run, lambda told: told["in_flight"] == 1 and len(told["calls"]) > 5)
    [trial] = await play(task, [APPEND.format(1)], disturb)
    assert (trial.reward_valid, await reward_of(trial)) == (False, None)


@pytest.mark.usefixtures("own_failure")
async def test_after_the_policys_own_failure_it_has_what_was_measured(fleet: Fleet, run: str, task: Path):
    [trial] = await play(task, [APPEND.format(2)])
    # Harbor 0.25 calls it invalid, 0.26 does not.
    assert (error_of(trial), await reward_of(trial)) == ("NonZeroAgentExitCodeError", 2)
    assert [line["mean"] for line in fleet.report(run)["groups"]] == [2.0]


@pytest.mark.usefixtures("fleet", "run")
async def test_a_model_that_cannot_be_reached_is_no_zero(task: Path, monkeypatch: pytest.MonkeyPatch):
    """By an exception that Harbor does not know; it looks like many that the policy can cause in grading."""
    monkeypatch.setattr(ScriptedAgent, "fails_after", httpx.ConnectError("no model is there"))
    [trial] = await play(task, [APPEND.format(2)])
    assert (error_of(trial), await reward_of(trial)) == ("ConnectError", None)


def test_a_wrong_key_ends_the_job(task: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CORRAL_KEY", "corral_trainer_wrong")
    with pytest.raises(SystemExit, match="unauthorized"):
        asyncio.run(play(task, [APPEND.format(1)]))


def test_the_example_runs_as_its_page_says(fleet: Fleet, run: str, task: Path, tmp_path: Path):
    (task / "solution").mkdir()
    (task / "solution/solve.sh").write_text(f"#!/bin/sh\n{APPEND.format(2)}\n")
    example = REPOSITORY / "clients/python/examples/harbor_rewards.py"
    played = subprocess.run(
        [sys.executable, example, task, "oracle"], cwd=tmp_path, capture_output=True, text=True
    )
    assert played.stdout.strip().endswith("rewards [2.0, 2.0, 2.0, 2.0], without a reward 0, mean 2.0"), (
        played.stderr
    )
    assert fleet.report(run)["scored"] == 4


@pytest.fixture
def written(tmp_path: Path) -> Path:
    [task] = write_rows("harbor", tmp_path / "tasks").iterdir()
    return task


async def test_a_task_that_the_fleet_wrote_is_graded_by_the_fleet(fleet: Fleet, run: str, written: Path):
    look = "ls -a /tests /solution . > seen; grep -rs forty /tests /solution /logs . > found; "
    commands = [
        look + "[ -s found ] || echo Forty-two. > answer.txt",
        "echo forty-one > answer.txt",
        "true",
        "mkdir answer.txt",
        "head -c 3000000 /dev/zero > answer.txt",
        "mkfifo answer.txt",
    ]
    trials = await play(written, commands, environment="asked", verifier="corral.harbor:CorralVerifier")
    rewards = [await reward_of(trial) for trial in trials]
    assert sorted(rewards, key=str) == [0, 0, 0, 0, 0, 1]
    report = fleet.report(run)
    assert (report["scored"], report["discarded"]) == (6, 0)
    # One for each burst: a trial may be over before the next one opens.
    assert {line["item"] for line in report["groups"]} == {"six-by-seven"}


async def test_a_task_that_the_fleet_wrote_is_refused_by_a_job_that_would_grade_it_by_itself(
    fleet: Fleet, run: str, written: Path
):
    [trial] = await play(written, ["echo forty-two > answer.txt"], environment="asked")
    assert trial.exception_info is not None
    assert "CorralVerifier" in trial.exception_info.exception_message
    # Not even opened.
    assert (ScriptedAgent.seen, await reward_of(trial)) == ([], None)
    assert "error" in fleet.report(run)
