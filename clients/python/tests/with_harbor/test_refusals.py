"""A task that its environment cannot run is refused by name, and the next trial runs."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fleet import REPOSITORY, Fleet
from small_tasks import SOLUTION, error_of, messages, play_job, write_task

from corral.harbor import reward_of

pytestmark = pytest.mark.usefixtures("address")

HEALTHCHECK = '[environment.healthcheck]\nretries = 2\ninterval_sec = 0.1\ncommand = "{}"\n'
COMPOSE = "services:\n  main: {build: .}\n  db: {image: postgres}\n"

DEMANDS: dict[str, dict[str, Any]] = {
    "memory": {"environment": "memory_mb = 33554432\n"},
    "cpu": {"environment": "cpus = 4000\n"},
    "disk": {"environment": "storage_mb = 1000000000\n"},
    "network": {"environment": "allow_internet = true\n"},
    "workdir": {"environment": 'workdir = "/nowhere"\n'},
    "user": {"sections": '[agent]\nuser = "nobody-here"\n'},
    "timeout": {"sections": "[agent]\ntimeout_sec = 7200\n"},
    "health_check": {"environment": HEALTHCHECK.format("echo no server >&2; exit 3")},
    "gpu": {"environment": "gpus = 1\n"},
}


async def test_each_demand_that_is_not_met_is_refused_by_name_and_the_next_trial_runs(
    fleet: Fleet, run: str, tmp_path: Path, image: str
):
    """One after the other, so that each refusal is the last thing that could have ended the job."""
    tasks = [write_task(tmp_path, name, image, **parts) for name, parts in DEMANDS.items()]
    tasks += [write_task(tmp_path, "image", None), write_task(tmp_path, "services", image)]
    (tasks[-1] / "environment/docker-compose.yaml").write_text(COMPOSE)
    job = await play_job([*tasks, write_task(tmp_path, "healthy", image)], at_once=1)

    refused = [trial for trial in job.trials if trial.task_name != "healthy"]
    said = {trial.task_name: message for trial, message in zip(refused, messages(refused), strict=True)}
    assert {name: text.split(": ")[:2] for name, text in said.items()} == {
        task.name: ["requirements_unmet", task.name] for task in tasks
    }
    assert {(trial.verifier_result, trial.reward_valid) for trial in refused} == {(None, False)}
    assert [await reward_of(trial) for trial in refused] == [None] * len(tasks)
    assert set(job.starts.values()) == {1}

    [healthy] = job.of("healthy")
    assert await reward_of(healthy) == 1
    report = fleet.report(run)
    assert (report["scored"], set(report["blame"])) == (1, {"caller"})


async def test_a_trial_gets_the_memory_and_the_disk_that_its_task_demands(tmp_path: Path, image: str):
    """Both are far above what the environment gives by itself: 128 MiB and 64 MiB."""
    memory = "[ $(head -c 314572800 /dev/zero | tail | wc -c) -eq 314572800 ]"
    disk = "head -c 209715200 /dev/zero > large"
    solution = f"{memory} && {disk} && {SOLUTION}"
    demands = "memory_mb = 512\nstorage_mb = 256\n"
    task = write_task(tmp_path, "large", image, environment=demands, solution=solution)
    [trial] = (await play_job([task])).trials
    assert (messages([trial]), await reward_of(trial)) == ([""], 1)


async def test_an_image_that_is_not_allowed_names_the_line_of_the_task(tmp_path: Path):
    [refused] = (await play_job([write_task(tmp_path, "published", "debian:12")])).trials
    [said] = messages([refused])
    assert said.startswith("requirements_unmet: image: the task names the image debian:12 as docker_image")
    assert "the environment allows rootfs:/*" in said
    assert "correct docker_image below [environment] in task.toml" in said


async def test_the_log_names_the_trial_that_is_refused(
    tmp_path: Path, image: str, caplog: pytest.LogCaptureFixture
):
    task = write_task(tmp_path, "demanding", image, **DEMANDS["memory"])
    with caplog.at_level(logging.WARNING, "harbor"):
        [refused] = (await play_job([task])).trials
    assert f"corral: refused trial {refused.trial_name}, neither scored nor retried" in caplog.text


async def test_a_root_that_cannot_start_is_one_error_without_logs_to_fetch(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    task = write_task(tmp_path, "rootless", f"rootfs:{tmp_path}/no-such-root")
    with caplog.at_level(logging.WARNING, "harbor"):
        [lost] = (await play_job([task], retries=0)).trials
    assert (error_of(lost), await reward_of(lost)) == ("HealthcheckError", None)
    assert "no-such-root" in messages([lost])[0]
    assert "Failed to download logs" not in caplog.text


async def test_a_health_check_says_what_it_wrote_and_which_line_to_change(
    fleet: Fleet, run: str, tmp_path: Path, image: str
):
    task = write_task(tmp_path, "demanding", image, **DEMANDS["health_check"])
    [refused] = (await play_job([task])).trials
    assert all(each in messages([refused])[0] for each in ("exited with 3", "no server", "command"))
    verdict = fleet.get(f"/v1/rollouts/{refused.id}/verdict", run)
    assert (verdict["verdict"]["code"], verdict["discard"]["blame"]) == ("requirements_unmet", "caller")


async def test_a_health_check_that_fails_in_the_first_sandbox_only_is_no_refusal(tmp_path: Path, image: str):
    task = write_task(tmp_path, "healing", image, environment=HEALTHCHECK.format("test -e healthy"))
    job = await play_job([task], import_path="healing_environment:HealingEnvironment")
    assert (messages(job.trials), job.starts) == ([""], {"healing": 1})
    assert await reward_of(job.trials[0]) == 1


async def test_a_health_check_that_takes_too_long_is_infrastructure_and_retried(tmp_path: Path, image: str):
    slow = HEALTHCHECK.format("sleep 60") + "timeout_sec = 1\n"
    job = await play_job([write_task(tmp_path, "slow", image, environment=slow)], retries=1)
    assert [error_of(trial) for trial in job.trials] == ["HealthcheckError"]
    assert (job.starts, await reward_of(job.trials[0])) == ({"slow": 2}, None)


def test_the_end_of_the_job_says_how_many_were_refused_and_why(
    fleet: Fleet, run: str, tmp_path: Path, image: str
):
    task = write_task(tmp_path, "demanding", image, **DEMANDS["memory"])
    example = REPOSITORY / "clients/python/examples/harbor_rewards.py"
    played = subprocess.run(
        [sys.executable, example, task, "oracle"], cwd=tmp_path, capture_output=True, text=True
    )
    assert played.stdout.strip().endswith("rewards [], without a reward 4"), played.stderr
    assert played.stderr.strip().endswith("memory: 4 (demanding)"), played.stderr
    assert "4 rollouts were refused, neither scored nor retried" in played.stderr
    assert fleet.report(run)["scored"] == 0


def test_a_wrong_key_still_ends_the_job(tmp_path: Path, image: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CORRAL_KEY", "corral_trainer_wrong")
    with pytest.raises(SystemExit, match="unauthorized"):
        asyncio.run(play_job([write_task(tmp_path, "healthy", image)]))


def test_an_environment_that_is_not_there_still_ends_the_job(tmp_path: Path, image: str):
    with pytest.raises(SystemExit, match="unknown_environment"):
        asyncio.run(play_job([write_task(tmp_path, "healthy", image)], environment="no-such"))
