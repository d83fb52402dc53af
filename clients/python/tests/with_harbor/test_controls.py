"""A missing or zero reward, and what the task's controls make of it."""

from __future__ import annotations

import asyncio
import logging
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from fleet import REPOSITORY, Fleet, eventually
from harbor.models.trial.config import TaskConfig, TrialConfig
from moments import LONG_S
from scripted_agent import ScriptedAgent
from small_tasks import (
    REWARD,
    SOLUTION,
    PlayedJob,
    controls,
    error_of,
    messages,
    play_job,
    write_step,
    write_task,
)

from corral.harbor import reward_of
from corral.harbor.check import Row, check_tasks, format_table, main
from corral.harbor.task_files import digest_task
from corral.standing import TaskKey, ask_standing, record_outcome

pytestmark = pytest.mark.usefixtures("address")

# As a verifier whose own tool is not in the image.
LACKS_A_TOOL = f"""command -v no-such-tool || {{ echo no-such-tool is missing >&2; echo 0 > {REWARD}; exit; }}
echo 1 > {REWARD}
"""
# A policy keeps it from its end.
HANGS = f"while [ -e hang ]; do sleep 0.2; done\nsleep {{}}\n[ -s calls ]; echo $((1 - $?)) > {REWARD}\n"
BOUND = "[verifier]\ntimeout_sec = {}\n"


async def rewards(job: PlayedJob) -> list[float | None]:
    return sorted([await reward_of(trial) for trial in job.trials], key=lambda each: (each is None, each))


def counts(fleet: Fleet, run: str) -> tuple[int, int, Any]:
    report = fleet.report(run)
    return report["scored"], report["discarded"], report["blame"]


def verifier_outputs(folder: Path) -> list[str]:
    return [path.read_text() for path in folder.glob("jobs/*/*/verifier/test-stdout.txt")]


async def test_in_a_proven_task_a_missing_reward_is_the_policys_and_a_zero_stands(
    fleet: Fleet, run: str, tmp_path: Path, image: str
):
    task = write_task(tmp_path, "proven", image)
    job = await play_job([task], commands=["touch stop", "true", SOLUTION], on_missing=0.25)
    assert await rewards(job) == [0, 0.25, 1]
    # Harbor itself has these rewards; nothing was made up afterwards.
    assert {trial.reward_valid for trial in job.trials} == {True}
    assert counts(fleet, run) == (3, 0, {})
    assert [line["mean"] for line in fleet.report(run)["groups"]] == [pytest.approx(1.25 / 3)]
    assert len(controls(fleet, run)) == 2


async def test_a_task_whose_own_solution_gets_a_zero_is_refused_from_then_on(
    fleet: Fleet, run: str, tmp_path: Path, image: str
):
    failing = "echo apt-get: Read-only file system >&2; exit 100\n"
    task = write_task(tmp_path, "refused", image, test=LACKS_A_TOOL, solution=failing)
    job = await play_job([task], commands=["true", "touch stop"])
    assert await rewards(job) == [None, None]
    for said in messages(job.trials):
        assert said.startswith("requirements_unmet: reward: ")
        assert "no-such-tool is missing" in said
        assert "exited with 100, and its output ends with: apt-get: Read-only file system" in said
        assert "python -m corral.harbor check TASK --environment harbor" in said
    assert verifier_outputs(tmp_path) == ["no-such-tool is missing\n"] * 2
    # nop leaves a reward, and the solution is played twice.
    assert (job.starts, len(controls(fleet, run))) == ({"refused": 2}, 3)
    assert counts(fleet, run) == (0, 2, {"caller": 2})

    [later] = (await play_job([task], commands=["true"])).trials
    assert (messages([later])[0].split(": ")[1], ScriptedAgent.seen) == ("reward", [])
    assert (await reward_of(later), len(controls(fleet, run))) == (None, 3)


async def test_a_task_whose_verifier_leaves_nothing_even_to_nop_is_refused(
    fleet: Fleet, run: str, tmp_path: Path, image: str
):
    task = write_task(tmp_path, "silent", image, test="no-such-program\n")
    job = await play_job([task], commands=["true"])
    assert "left no reward" in messages(job.trials)[0]
    assert (await rewards(job), len(controls(fleet, run))) == ([None], 2)


async def test_a_reward_that_is_not_a_number_is_shown_in_the_refusal(tmp_path: Path, image: str):
    task = write_task(tmp_path, "unreadable", image, test=f"echo not-a-number > {REWARD}\n")
    [refused] = (await play_job([task], commands=["true"])).trials
    assert (
        "left a reward that cannot be read: reward.txt begins with 'not-a-number'" in messages([refused])[0]
    )


async def test_without_a_solution_the_task_is_unproven_and_its_zero_stands(
    fleet: Fleet, run: str, tmp_path: Path, image: str, caplog: pytest.LogCaptureFixture
):
    task = write_task(tmp_path, "unproven", image, solution=None)
    with caplog.at_level(logging.WARNING, "harbor"):
        job = await play_job([task], commands=["touch stop", "true"], on_missing=0.25)
    assert await rewards(job) == [0, 0.25]
    assert counts(fleet, run) == (2, 0, {})
    assert "the task is unproven" in caplog.text


async def test_a_reward_that_the_policy_wrote_and_locked_is_no_reward(
    fleet: Fleet, run: str, tmp_path: Path, image: str
):
    forged = (
        f"touch stop; echo 1 > {REWARD}; echo '[' > /logs/verifier/reward.json; chmod -R 500 /logs/verifier"
    )
    job = await play_job([write_task(tmp_path, "locked", image)], commands=[forged])
    assert (await rewards(job), counts(fleet, run)) == ([0], (1, 0, {}))


async def test_ten_trials_wait_for_one_run_of_the_controls(
    fleet: Fleet, run: str, tmp_path: Path, image: str
):
    task = write_task(tmp_path, "proven", image, test=f"sleep 1\n[ -s calls ]; echo $((1 - $?)) > {REWARD}\n")
    job = await play_job([task], commands=["true"] * 10, at_once=10)
    assert await rewards(job) == [0] * 10
    assert (len(controls(fleet, run)), counts(fleet, run)) == (2, (10, 0, {}))


def test_two_processes_wait_for_one_run_of_the_controls(fleet: Fleet, run: str, tmp_path: Path, image: str):
    task = write_task(tmp_path, "proven", image)
    example = REPOSITORY / "clients/python/examples/harbor_rewards.py"
    folders = [tmp_path / name for name in ("first", "second")]
    for folder in folders:
        folder.mkdir()
    jobs = [
        subprocess.Popen(
            [sys.executable, example, task, "nop"], cwd=folder, stdout=subprocess.PIPE, text=True
        )
        for folder in folders
    ]
    said = [job.communicate()[0].strip() for job in jobs]
    assert all(each.endswith("rewards [0.0, 0.0, 0.0, 0.0], without a reward 0, mean 0.0") for each in said)
    assert (len(controls(fleet, run)), counts(fleet, run)) == (2, (8, 0, {}))


async def test_a_control_that_is_killed_in_the_middle_is_played_again(
    fleet: Fleet, run: str, tmp_path: Path, image: str
):
    slow = f"sleep 8\n[ -s calls ]; echo $((1 - $?)) > {REWARD}\n"
    job = asyncio.create_task(play_job([write_task(tmp_path, "proven", image, test=slow)], commands=["true"]))
    since: dict[tuple[str, int], float] = {}

    def is_verified(rollout: str) -> bool:
        # A loss in what comes before, which is set-up, may heal.
        told = fleet.rollout(rollout, run)
        began = since.setdefault((rollout, len(told["calls"])), time.monotonic())
        return told["in_flight"] == 1 and time.monotonic() - began > LONG_S

    def look() -> str | None:
        known = [each["rollout_id"] for each in controls(fleet, run)]
        return next((each for each in known if is_verified(each)), None)

    control = await asyncio.to_thread(eventually, look, "a control is verified")
    fleet.kill_sandbox_of(control)
    assert await rewards(await job) == [0]
    assert len(controls(fleet, run)) == 3
    assert counts(fleet, run) == (1, 1, {"infrastructure": 1})


async def record_proven(fleet: Fleet, run: str, task: Path, verifier_took_s: float) -> None:
    """As if its controls had been played on a machine that is as fast."""
    trial = TrialConfig(task=TaskConfig(path=task))
    key = TaskKey(fleet.client(run), "harbor", digest_task(task, trial))
    assert (await ask_standing(key, "recorder")).state == "play"
    assert (await record_outcome(key, "recorder", "proven", "", verifier_took_s)).state == "proven"


async def test_a_verifier_that_the_policy_keeps_from_its_end_is_a_missing_reward(
    fleet: Fleet, run: str, tmp_path: Path, image: str
):
    task = write_task(tmp_path, "proven", image, sections=BOUND.format(20), test=HANGS.format(0))
    await record_proven(fleet, run, task, 9.9)
    job = await play_job([task], commands=["touch hang"], on_missing=0.25)
    assert (await rewards(job), job.trials[0].reward_valid) == ([0.25], True)
    assert counts(fleet, run) == (1, 0, {})


async def test_a_verifier_that_is_slow_by_itself_is_a_discard_when_its_time_ends(
    fleet: Fleet, run: str, tmp_path: Path, image: str
):
    task = write_task(tmp_path, "slow", image, sections=BOUND.format(20), test=HANGS.format(0))
    await record_proven(fleet, run, task, 10.1)
    job = await play_job([task], commands=["touch hang"], retries=0)
    assert (await rewards(job), error_of(job.trials[0])) == ([None], "HealthcheckError")
    assert "took 10 s" in messages(job.trials)[0]
    assert fleet.report(run)["scored"] == 0


async def test_what_is_undecided_when_the_verifiers_time_ends_is_a_discard(
    fleet: Fleet, run: str, tmp_path: Path, image: str
):
    """Two controls take longer than what is left of its time."""
    task = write_task(tmp_path, "undecided", image, sections=BOUND.format(10), test=HANGS.format(6))
    job = await play_job([task], commands=["true"], retries=0)
    assert (await rewards(job), error_of(job.trials[0])) == ([None], "HealthcheckError")
    assert (fleet.report(run)["scored"], fleet.report(run)["blame"]) == (0, {})


async def test_each_step_of_a_task_is_settled_and_its_controls_play_all_steps(
    fleet: Fleet, run: str, tmp_path: Path, image: str
):
    steps = '[[steps]]\nname = "one"\n[[steps]]\nname = "two"\n'
    task = write_task(tmp_path, "stepped", image, sections=steps, solution=None)
    lines = "[ $(wc -l < calls) -ge {} ]; echo $((1 - $?)) > {}\n"
    for count, name in enumerate(("one", "two"), 1):
        write_step(task, name, f"[ -e stop ] && exit 1\ntouch calls\n{lines.format(count, REWARD)}", SOLUTION)
    job = await play_job([task], commands=[SOLUTION, "touch stop"], at_once=1)
    # The first trial's two steps: its one line is enough for the first.
    assert [trial.step_results and len(trial.step_results) for trial in job.trials] == [2, 2]
    assert len(controls(fleet, run)) == 2


def test_check_names_what_is_refused_and_why_before_a_job_does(tmp_path: Path, image: str, run: str):
    tasks = [
        write_task(tmp_path, "proven", image),
        write_task(tmp_path, "unproven", image, solution=None),
        write_task(tmp_path, "lacking", image, test=LACKS_A_TOOL),
        write_task(tmp_path, "greedy", image, environment="memory_mb = 33554432\n"),
    ]
    words = [sys.executable, "-m", "corral.harbor", "check", *tasks, "--environment", "harbor"]
    played = subprocess.run(words, capture_output=True, text=True, env={**os.environ, "CORRAL_RUN": run})
    lines = [line.split() for line in played.stdout.splitlines()]
    assert [line[:3] for line in lines] == [
        ["task", "standing", "requirement"],
        ["proven", "proven"],
        ["unproven", "unproven", "the"],
        ["lacking", "refused", "reward"],
        ["greedy", "refused", "memory"],
    ], played.stderr
    assert "no-such-tool is missing" in played.stdout
    assert "larger machine" in played.stdout
    assert played.returncode == 1


def test_preflight_shows_what_a_failed_solution_wrote_and_an_unreadable_reward(tmp_path: Path, image: str):
    failing = "echo apt-get: Read-only file system >&2; exit 100\n"
    tasks = {
        "refused": write_task(tmp_path, "refused", image, test=LACKS_A_TOOL, solution=failing),
        "unreadable": write_task(tmp_path, "unreadable", image, test=f"echo not-a-number > {REWARD}\n"),
    }
    said = {name: preflight(task) for name, task in tasks.items()}
    assert "exited with 100, and its output ends with: apt-get: Read-only file system" in said["refused"]
    assert "no-such-tool is missing" in said["refused"]
    assert 'left a reward that cannot be read: reward.txt begins with "not-a-number"' in said["unreadable"]


def preflight(task: Path) -> str:
    node, cli = REPOSITORY / "node_modules/.bin/node", REPOSITORY / "cli/main.ts"
    words = [node, cli, "preflight", "harbor", "--task", task]
    return subprocess.run(words, capture_output=True, text=True, cwd=REPOSITORY).stdout


async def test_check_plays_again_what_it_is_told_to(fleet: Fleet, run: str, tmp_path: Path, image: str):
    task = write_task(tmp_path, "proven", image)
    for again, played in ((False, 2), (False, 2), (True, 4)):
        [row] = await check_tasks([task], "harbor", again=again)
        assert (row, len(controls(fleet, run))) == (Row("proven", "proven"), played)


def test_check_says_what_is_not_a_task(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "task.toml").write_text("[environment]\ncpus = 'many'\n")
    for folder in (tmp_path, tmp_path / "absent"):
        with pytest.raises(SystemExit):
            main(["check", str(folder), "--environment", "harbor"])
        assert f"{folder} is not a task of Harbor" in capsys.readouterr().err


def test_a_table_has_one_line_for_each_task_whatever_a_verifier_wrote():
    table = format_table([Row("a", "refused", "reward", "one\ntwo " + "x" * 1000), Row("bcd", "proven")])
    head, first, second = table.splitlines()
    assert head.split() == ["task", "standing", "requirement", "reason"]
    assert first.startswith("a     refused   reward")
    assert second == "bcd   proven"
