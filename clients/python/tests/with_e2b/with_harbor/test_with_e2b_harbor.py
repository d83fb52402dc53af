"""Stock Harbor, `-e e2b`, on a real fleet: which rewards of four trials a trainer may take."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from statistics import mean

import httpx
import pytest
from fleet import Fleet, eventually
from harbor.job import Job
from harbor.models.job.config import JobConfig
from harbor.models.trial.result import TrialResult
from killing import in_long_command, kill_in_long_command
from scripted_agent import ScriptedAgent

APPEND = "for each in $(seq {}); do echo x >> calls; done"
TEST = "#!/bin/sh\nsleep {}\nwc -l < calls > /logs/verifier/reward.txt\n"
# The templates of 0.26 have build steps for root, so its sandboxes are of `sandbox-root`. A command may end its sandbox there,
# and one that is killed during a command is the policy's doing.
ROOTED = version("harbor").startswith("0.26.")
# What `corral preflight` prints. 0.25 grades after no exception, and does not know the setting.
NOT_GRADED = {"should_grade": False, "has_valid_reward": False}
UNSEEN = ["SandboxUnreachableException", "ConnectError", "ConnectTimeout", "ReadError", "WriteError"]
UNSEEN += ["RemoteProtocolError"]
REQUIRED = {"override_error_policy": dict.fromkeys(UNSEEN, NOT_GRADED)} if ROOTED else {}
Disturb = Callable[[], Awaitable[object]]


@pytest.fixture
def task(tmp_path: Path, image: str) -> Path:
    folder = tmp_path / "appending"
    for each in ("tests", "environment"):
        (folder / each).mkdir(parents=True)
    (folder / "instruction.md").write_text("Append lines to calls.\n")
    (folder / "task.toml").write_text(f'version = "1.0"\n[environment]\ndocker_image = "{image}"\n')
    (folder / "tests/test.sh").write_text(TEST.format(0))
    return folder


@pytest.fixture
def outage_over(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Set it when an agent that gave up may be graded."""
    over = asyncio.Event()
    monkeypatch.setattr(ScriptedAgent, "raised", [])
    monkeypatch.setattr(ScriptedAgent, "over", over)
    return over


async def play(
    task: Path,
    commands: Sequence[str],
    disturb: Disturb | None = None,
    timeout_sec: int | None = None,
    settings: Mapping[str, object] | None = None,
) -> list[TrialResult]:
    ScriptedAgent.commands, ScriptedAgent.numbers = commands, itertools.count()
    ScriptedAgent.timeout_sec, ScriptedAgent.seen, ScriptedAgent.last = timeout_sec, [], []
    ScriptedAgent.begins = None
    config = JobConfig.model_validate(
        {
            "jobs_dir": task.parent / "jobs",
            "n_attempts": len(commands),
            "quiet": True,
            "tasks": [{"path": task}],
            "agents": [{"import_path": "scripted_agent:ScriptedAgent"}],
            "environment": {"type": "e2b"},
            **(settings or {}),
        }
    )
    job = await Job.create(config)
    running = asyncio.create_task(job.run())
    if disturb is not None:
        await disturb()
    await running
    trials = job.job_dir.glob("*/result.json")
    return [TrialResult.model_validate_json(path.read_text()) for path in trials]


def expect_one_lost(fleet: Fleet, run: str, trials: Sequence[TrialResult]) -> None:
    rewards = [
        float(trial.verifier_result.rewards["reward"])
        for trial in trials
        if trial.verifier_result is not None and trial.verifier_result.rewards is not None
    ]
    assert sorted(rewards) == [1, 2, 3]
    assert mean(rewards) == 2.0
    [lost] = [trial for trial in trials if not trial.reward_valid]
    assert lost.verifier_result is None
    assert lost.exception_info is not None
    # By which of Harbor's requests meets the loss first: the agent's, those before the verifier, or the verifier's own.
    met = {"SandboxNotRunningException", "RuntimeError", "AddTestsDirError"}
    assert lost.exception_info.exception_type in met
    assert fleet.report(run)["rollouts"] == 4
    expect_blame(fleet, run)


def expect_blame(fleet: Fleet, run: str) -> None:
    report = fleet.report(run)
    lost = 0 if ROOTED else 1
    assert (report["discarded"], report["blame"].get("infrastructure", 0)) == (lost, lost)


def commands(last: str) -> list[str]:
    return [*(APPEND.format(times) for times in (1, 3, 2)), last]


async def test_killed_in_a_command_the_trial_has_no_reward(fleet: Fleet, run: str, task: Path):
    async def disturb() -> None:
        await kill_in_long_command(fleet, run)

    expect_one_lost(fleet, run, await play(task, commands("echo x >> calls; sleep 8"), disturb))


async def test_killed_while_it_is_graded_the_trial_has_no_reward(fleet: Fleet, run: str, task: Path):
    (task / "tests/test.sh").write_text(TEST.format(6))

    async def disturb() -> None:
        # Whichever of them is tested first; the others are played again without it.
        await kill_in_long_command(fleet, run)

    trials = await play(task, [APPEND.format(times) for times in (2, 2, 2, 2)], disturb)
    [lost] = [trial for trial in trials if not trial.reward_valid]
    assert lost.verifier_result is None
    rewards = [trial.verifier_result.rewards for trial in trials if trial.verifier_result is not None]
    assert rewards == [{"reward": 2.0}] * 3
    expect_blame(fleet, run)


async def test_the_only_gateway_is_killed_for_forty_seconds_in_a_command_and_nothing_is_graded(
    fleet: Fleet, run: str, task: Path, outage_over: asyncio.Event
):
    async def disturb() -> None:
        await in_long_command(fleet, run)
        with fleet.without_gateway():
            await asyncio.sleep(40)
            # Harbor 0.26 attaches again and again for about as long.
            await asyncio.to_thread(eventually, lambda: ScriptedAgent.raised, "the agent has given up")
        outage_over.set()

    [trial] = await play(task, ["echo x >> calls; sleep 300; echo x >> calls"], disturb)
    assert (ScriptedAgent.raised, trial.verifier_result) == (["SandboxUnreachableException"], None)
    assert fleet.report(run)["codes"] == {"sandbox_lost": 1}


async def test_redis_is_away_until_a_command_that_has_ended_is_given_up_and_nothing_is_graded(
    fleet: Fleet, run: str, task: Path, outage_over: asyncio.Event
):
    async def disturb() -> None:
        await in_long_command(fleet, run)
        with fleet.without_redis():
            await asyncio.to_thread(eventually, lambda: ScriptedAgent.raised, "the agent has given up")
        outage_over.set()

    [trial] = await play(task, ["echo x >> calls; sleep 4; echo x >> calls"], disturb, timeout_sec=12)
    assert (ScriptedAgent.raised, trial.verifier_result) == (["TimeoutException"], None)
    assert fleet.report(run)["codes"] == {"sandbox_lost": 1}


@pytest.mark.usefixtures("outage_over")
async def test_redis_is_away_for_three_minutes_under_an_agent_that_waits_and_its_reward_is_true(
    fleet: Fleet, run: str, task: Path
):
    async def disturb() -> None:
        await in_long_command(fleet, run)
        with fleet.without_redis():
            await asyncio.sleep(180)

    [trial] = await play(task, ["echo x >> calls; sleep 4; echo x >> calls"], disturb)
    assert (ScriptedAgent.raised, [each.return_code for each in ScriptedAgent.seen]) == ([], [0])
    assert trial.verifier_result is not None
    assert trial.verifier_result.rewards == {"reward": 2.0}
    assert fleet.report(run)["discarded"] == 0


@pytest.mark.parametrize(("settings", "is_graded"), [(None, ROOTED), (REQUIRED, False)])
async def test_a_connection_that_one_of_several_gateways_refuses_is_graded_only_without_the_required_setting(
    fleet: Fleet,
    run: str,
    task: Path,
    monkeypatch: pytest.MonkeyPatch,
    settings: Mapping[str, object] | None,
    is_graded: bool,
):
    monkeypatch.setattr(ScriptedAgent, "fails_after", httpx.ConnectError("refused"))
    [trial] = await play(task, [APPEND.format(1)], settings=settings)
    assert (trial.verifier_result is not None, trial.reward_valid) == (is_graded, is_graded)
    assert fleet.report(run)["discarded"] == 0


async def test_the_models_own_time_out_is_an_exit_code_and_the_trial_is_scored(
    fleet: Fleet, run: str, task: Path
):
    [trial] = await play(task, ["echo x >> calls; sleep 60"], timeout_sec=3)
    assert [each.return_code for each in ScriptedAgent.seen] == [124]
    assert trial.verifier_result is not None
    assert trial.verifier_result.rewards == {"reward": 1.0}
    assert fleet.report(run)["discarded"] == 0


@pytest.mark.usefixtures("fleet", "run")
async def test_a_dockerfile_that_copies_files_is_refused_in_words(task: Path):
    (task / "task.toml").write_text('version = "1.0"\n')
    (task / "environment/Dockerfile").write_text("FROM scratch\nCOPY notes /notes\n")
    (task / "environment/notes").write_text("here\n")
    [trial] = await play(task, [APPEND.format(1)])
    assert trial.exception_info is not None
    assert "(COPY) are not served" in trial.exception_info.exception_message


@pytest.mark.usefixtures("fleet")
async def test_a_wrong_key_has_no_trial_with_a_reward(task: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("E2B_API_KEY", "corral_trainer_wrong")
    [trial] = await play(task, [APPEND.format(1)])
    assert trial.exception_info is not None
    assert (trial.exception_info.exception_type, trial.reward_valid) == ("AuthenticationException", False)
