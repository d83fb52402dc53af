"""What one control shows of a task."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from harbor.models.task.config import TaskConfig
from harbor.models.trial.config import TaskConfig as TaskSource
from harbor.models.trial.config import TrialConfig
from harbor.models.trial.result import ExceptionInfo, StepResult, TimingInfo, TrialResult
from harbor.models.verifier.result import VerifierResult

from corral.harbor.control_outputs import ControlOutputs, read_outputs
from corral.harbor.controls import ControlledTask, control_config, judge

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PLAIN = TaskConfig()
NOTHING = ControlOutputs()
STEPPED = TaskConfig.model_validate({"steps": [{"name": "one"}, {"name": "two"}]})


def trial(
    rewards: dict[str, float | int] | None = None,
    error: tuple[str, str] | None = None,
    steps: list[StepResult] | None = None,
) -> TrialResult:
    info = (
        None
        if error is None
        else ExceptionInfo.model_construct(exception_type=error[0], exception_message=error[1])
    )
    return TrialResult.model_construct(
        verifier_result=None if rewards is None else VerifierResult(rewards=rewards),
        exception_info=info,
        verifier=TimingInfo(started_at=NOW, finished_at=NOW + timedelta(seconds=7)),
        step_results=steps,
    )


def step(reward: float | None) -> StepResult:
    result = None if reward is None else VerifierResult(rewards={"reward": reward})
    return StepResult(step_name="one", verifier_result=result)


def test_nop_passes_with_any_reward_and_the_solution_with_the_full_one():
    assert judge(trial({"reward": 0.0}), "nop", PLAIN, NOTHING).state == "passed"
    assert judge(trial({"reward": 1.0}), "solution", PLAIN, NOTHING).verifier_took_s == 7
    assert judge(trial({"reward": 0.9}), "solution", PLAIN, NOTHING).state == "failed"
    declared = TaskConfig.model_validate({"metadata": {"max_reward": 0.9}})
    assert judge(trial({"reward": 0.9}), "solution", declared, NOTHING).state == "passed"


@pytest.mark.parametrize("kind", ["nop", "solution"])
def test_a_missing_reward_fails_either_with_the_end_of_the_output(kind: str):
    missing = trial(error=("RewardFileNotFoundError", "No reward file found"))
    outputs = ControlOutputs(verifier="no-such-tool: not found")
    found = judge(missing, "nop" if kind == "nop" else "solution", PLAIN, outputs)
    assert found.state == "failed"
    assert "left no reward" in found.reason
    assert found.reason.endswith("no-such-tool: not found")


@pytest.mark.parametrize(
    "error", ["HealthcheckError", "VerifierTimeoutError", "AgentTimeoutError", "EnvironmentStartTimeoutError"]
)
def test_a_lost_control_and_one_that_ran_out_of_time_show_nothing(error: str):
    assert judge(trial(error=(error, "gone")), "nop", PLAIN, NOTHING).state == "lost"
    assert judge(trial({"reward": 0.0}, (error, "gone")), "solution", PLAIN, NOTHING).state == "lost"


def test_a_slow_solution_that_earned_everything_has_passed():
    slow = trial({"reward": 1.0}, ("AgentTimeoutError", "600 s"))
    assert judge(slow, "solution", PLAIN, NOTHING).state == "passed"


def test_a_control_that_its_environment_refuses_names_the_requirement():
    refused = trial(
        error=("RewardFileNotFoundError", "requirements_unmet: memory: 65 GiB, but 1 GiB; raise it")
    )
    found = judge(refused, "nop", PLAIN, NOTHING)
    assert (found.state, found.reason) == ("refused", "memory: 65 GiB, but 1 GiB; raise it")


def test_every_step_of_the_solution_must_leave_a_reward_and_nop_may_be_stopped_by_a_threshold():
    full: dict[str, float | int] = {"reward": 1.0}
    assert judge(trial(full, steps=[step(1), step(1)]), "solution", STEPPED, NOTHING).state == "passed"
    assert judge(trial(full, steps=[step(1), step(None)]), "solution", STEPPED, NOTHING).state == "failed"
    assert judge(trial(full, steps=[step(1)]), "solution", STEPPED, NOTHING).state == "failed"
    assert judge(trial({"reward": 0.0}, steps=[step(0)]), "nop", STEPPED, NOTHING).state == "passed"
    assert (
        judge(trial({"reward": 0.0}, steps=[step(0), step(None)]), "nop", STEPPED, NOTHING).state == "failed"
    )


def test_a_control_shares_everything_with_its_trial_but_the_agent(tmp_path: Path):
    own = TrialConfig.model_validate(
        {
            "task": TaskSource(path=tmp_path),
            "agent": {"name": "codex", "model_name": "m", "override_timeout_sec": 9},
            "verifier": {"env": {"STRICT": "1"}, "override_timeout_sec": 7},
            "environment": {"import_path": "a:B", "override_memory_mb": 64, "kwargs": {"environment": "e"}},
            "timeout_multiplier": 3,
        }
    )
    control = control_config(ControlledTask(tmp_path, own, PLAIN), "solution", tmp_path)
    assert (control.agent.name, control.agent.model_name, control.agent.override_timeout_sec) == (
        "oracle",
        None,
        9,
    )
    assert (control.verifier, control.environment, control.timeout_multiplier) == (
        own.verifier,
        own.environment,
        3,
    )


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_what_a_failed_solution_wrote_stands_before_what_the_verifier_wrote(tmp_path: Path):
    write(tmp_path / "agent/oracle.txt", "x" * 5000 + "apt-get: Read-only file system\n")
    write(tmp_path / "verifier/test-stdout.txt", "y" * 5000 + "no answer.txt\n")
    both = read_outputs(tmp_path).describe()
    assert both.index("no answer.txt") < both.index("Read-only file system")
    write(tmp_path / "agent/exit-code.txt", "100")
    both = read_outputs(tmp_path).describe()
    assert both.startswith("The solution's command exited with 100")
    assert both.index("Read-only file system") < both.index("no answer.txt")
    assert both.count("x") < 620
    assert 880 < both.count("y") < 920


def test_without_a_solution_only_the_verifiers_output_is_shown(tmp_path: Path):
    assert read_outputs(tmp_path).describe() == "The end of the verifier's output: (nothing)"


def test_of_several_steps_the_solution_that_failed_is_shown(tmp_path: Path):
    write(tmp_path / "steps/one/agent/oracle.txt", "first failed")
    write(tmp_path / "steps/one/agent/exit-code.txt", "1")
    write(tmp_path / "steps/two/agent/oracle.txt", "second worked")
    assert read_outputs(tmp_path).solution == "first failed"


@pytest.mark.parametrize(
    ("files", "shown"),
    [
        ({}, None),
        ({"reward.txt": "0.5\n"}, None),
        ({"reward.json": '{"reward": 1}', "reward.txt": "one"}, None),
        ({"reward.txt": "not-a-number\n"}, "reward.txt begins with 'not-a-number'"),
        ({"reward.txt": ""}, "reward.txt is empty"),
        ({"reward.json": "[" * 999, "reward.txt": "1"}, f"reward.json begins with {'[' * 80!r}"),
    ],
)
def test_a_reward_that_cannot_be_read_is_not_called_missing(
    tmp_path: Path, files: dict[str, str], shown: str | None
):
    for name, text in files.items():
        write(tmp_path / "verifier" / name, text)
    outputs = read_outputs(tmp_path)
    assert outputs.unreadable == shown
    found = judge(trial(error=("VerifierOutputParseError", "")), "nop", PLAIN, outputs)
    left = "left no reward" if shown is None else f"left a reward that cannot be read: {shown}."
    assert f"the nop control {left}" in found.reason
