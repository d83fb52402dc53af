"""One real step of TRL's own trainer on a real fleet: what the mean of the group and the advantages become."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import trl_sums
from datasets import Dataset
from faults import FAULTY_TIMES, SEEDS, SLOW_APPEND, expect_truth, faults
from fleet import Fleet, eventually
from moments import MOMENTS, Losing, Moment, expect_report, expect_two_or_healed, scripts
from tiny_model import tiny_model, tiny_tokenizer
from trl import GRPOConfig, GRPOTrainer

import corral
import corral.trl

APPEND = "for each in $(seq {}); do echo x >> calls; done"
Disturb = Callable[[str], None]


class Scripted(GRPOTrainer):
    """All of it is TRL's but what the model writes: each rollout the command that the test gives it, and then an answer."""

    commands: Sequence[str | Sequence[str]]
    begins: Callable[[str, int], None] | None = None
    """Called before each command of the last rollout."""
    scored: dict[str, Any]

    def _generate_single_turn(self, prompt_ids: list[list[int]], *_: Any, **__: Any) -> Any:
        tokenizer: Any = self.processing_class
        turn = tokenizer.decode(prompt_ids[0]).count("<tool_response>")
        scripts = [[own] if isinstance(own, str) else own for own in self.commands]
        # TRL continues, all at once, the rollouts that called a tool in the turn before.
        playing = [number for number, script in enumerate(scripts) if turn <= len(script)]
        assert len(playing) == len(prompt_ids)
        said = [self._said(number, scripts[number], turn) for number in playing]
        return [tokenizer(text)["input_ids"] for text in said], None

    def _said(self, number: int, script: Sequence[str], turn: int) -> str:
        if turn == len(script):
            return "done<|im_end|>"
        if number == len(self.commands) - 1 and self.begins is not None:
            assert self.environments is not None
            self.begins(self.environments[number]._rollout.rollout_id, turn)
        call = {"name": "shell", "arguments": {"command": script[turn]}}
        return f"<tool_call>\n{json.dumps(call)}\n</tool_call><|im_end|>"

    def _generate_and_score_completions(self, inputs: Any) -> Any:
        self.scored = super()._generate_and_score_completions(inputs)
        return self.scored


@pytest.fixture
def client(fleet: Fleet, run: str) -> corral.sync.Client:
    return corral.sync.Client(fleet.url, fleet.key, run)


@pytest.fixture
def play(
    client: corral.sync.Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Scripted]:
    monkeypatch.setenv("TRL_EXPERIMENTAL_SILENCE", "1")

    def one_step(
        commands: Sequence[str | Sequence[str]],
        name: str = "counting",
        reward_funcs: Any = corral.trl.reward,
        disturb: Disturb | None = None,
        begins: Callable[[str, int], None] | None = None,
    ) -> Scripted:
        tokenizer = tiny_tokenizer()
        row = {"prompt": [{"role": "user", "content": "Append lines to calls."}], "id": "lines"}
        arguments = GRPOConfig(
            output_dir=str(tmp_path),
            per_device_train_batch_size=len(commands),
            num_generations=len(commands),
            # For ten commands of a token for each byte.
            max_completion_length=4096,
            max_steps=1,
            logging_steps=1,
            scale_rewards="none",
            save_strategy="no",
            report_to="none",
            use_cpu=True,
            bf16=False,
        )
        trainer = Scripted(
            model=tiny_model(tokenizer),
            processing_class=tokenizer,
            args=arguments,
            train_dataset=Dataset.from_list([row]),
            environment_factory=corral.trl.environment(name, client=client),
            reward_funcs=reward_funcs,
        )
        trainer.commands, trainer.begins = commands, begins
        if disturb is None:
            trainer.train()
        else:
            watching = threading.Thread(target=_disturbs_the_last, args=(trainer, disturb))
            watching.start()
            trainer.train()
            watching.join()
        return trainer

    return one_step


def _disturbs_the_last(trainer: Scripted, disturb: Disturb) -> None:
    def last() -> str | None:
        taken = getattr(trainer, "environments", None) or []
        rollout = taken[-1]._rollout if len(taken) == len(trainer.commands) else None
        return None if rollout is None else rollout.rollout_id

    disturb(eventually(last, "the last rollout is made"))


def killed_when(fleet: Fleet, run: str, is_so: Callable[[Any], bool]) -> Disturb:
    def disturb(rollout: str) -> None:
        def look() -> bool:
            told = fleet.rollout(rollout, run)
            return "error" not in told and is_so(told)

        eventually(look, "it is where it is to be killed", within_s=120)
        fleet.kill_sandbox_of(rollout)

    return disturb


def expect_one_lost(fleet: Fleet, run: str, trainer: Scripted) -> None:
    assert trainer.scored["advantages"].tolist() == [-1, 1, 0, 0]
    [logged] = [line for line in trainer.state.log_history if "reward" in line]
    assert logged["reward"] == 2.0
    expect_report(fleet, run, lost=True)


def commands(last: str) -> list[str]:
    return [*(APPEND.format(times) for times in (1, 3, 2)), last]


class Rewards:
    """What the fleet's grader gave the rollouts of the one batch."""

    def __init__(self) -> None:
        self.seen: list[float | None] = []
        self.__name__ = "rewards"

    def __call__(self, **given: Any) -> list[float | None]:
        self.seen = corral.trl.reward(**given)
        return self.seen


@pytest.mark.parametrize("moment", MOMENTS)
def test_of_four_rollouts_the_one_that_loses_its_sandbox_has_no_reward_or_is_healed(
    fleet: Fleet, run: str, play: Callable[..., Scripted], moment: Moment
):
    losing, rewards = Losing(fleet, run, moment), Rewards()
    name = "slow-grader" if moment == "while it is graded" else "counting"
    trainer = play(scripts(moment), name, rewards, disturb=losing.watch, begins=losing.begins)
    if expect_two_or_healed(moment, rewards.seen):
        expect_one_lost(fleet, run, trainer)
    else:
        assert trainer.scored["advantages"].tolist() == [-1.5, 0.5, -0.5, 1.5]
        expect_report(fleet, run, lost=False)


@pytest.mark.seeds
@pytest.mark.parametrize("seed", SEEDS)
def test_faults_by_chance_make_no_false_zero_and_run_nothing_twice(
    fleet: Fleet, run: str, play: Callable[..., Scripted], seed: int
):
    rewards = Rewards()
    with faults(fleet, run, seed):
        play([[SLOW_APPEND] * times for times in FAULTY_TIMES], "faulty", rewards)
    expect_truth(fleet, run, rewards.seen)


def test_a_second_reward_does_not_bring_a_lost_one_back(
    fleet: Fleet, run: str, play: Callable[..., Scripted]
):
    @corral.trl.unless_lost
    def form(completions: Sequence[Any], **_: Any) -> list[float]:
        return [0.0 for _ in completions]

    disturb = killed_when(fleet, run, lambda told: told["in_flight"] == 1)
    both = [form, corral.trl.reward]
    trainer = play(commands("echo x >> calls; sleep 4"), reward_funcs=both, disturb=disturb)
    expect_one_lost(fleet, run, trainer)


def test_where_the_trainer_grades_its_rewards_are_in_the_report_and_the_lost_one_has_none(
    fleet: Fleet, run: str, play: Callable[..., Scripted]
):
    @corral.trl.unless_lost
    def own(**_: Any) -> list[float]:
        return [1.0, 3.0, 2.0, 4.0]

    disturb = killed_when(fleet, run, lambda told: told["in_flight"] == 1)
    trainer = play(commands("sleep 4"), "own-score", reward_funcs=own, disturb=disturb)
    expect_one_lost(fleet, run, trainer)


def test_the_models_own_time_out_is_told_to_it_and_scored(
    fleet: Fleet, run: str, play: Callable[..., Scripted]
):
    trainer = play([APPEND.format(3), "echo x >> calls; sleep 60"])
    assert trainer.scored["advantages"].tolist() == [1, -1]
    assert fleet.report(run)["discarded"] == 0


def test_tools_are_told_as_the_fleet_describes_them(client: corral.sync.Client):
    from transformers.utils import get_json_schema

    made = corral.trl.environment("counting", client=client)()
    told = get_json_schema(made.shell)["function"]
    [described] = client.tools("counting")["functions"]
    assert told["name"] == described["function"]["name"]
    assert told["description"] == " ".join(described["function"]["description"].split())
    assert told["parameters"]["required"] == described["function"]["parameters"]["required"]
    assert told["parameters"]["properties"].keys() == described["function"]["parameters"]["properties"].keys()


def test_where_nobody_grades_the_job_is_told_so_and_does_not_train_on_nothing(client: corral.sync.Client):
    made = corral.trl.environment("own-score", client=client)()
    with pytest.raises(ValueError, match="no grader"):
        corral.trl.reward(completions=["done"], environments=[made])


def test_a_wrong_key_or_environment_stops_the_job_before_its_first_step(
    fleet: Fleet, client: corral.sync.Client
):
    with pytest.raises(corral.Misuse, match="unknown_environment"):
        corral.trl.environment("no-such", client=client)
    with pytest.raises(corral.Misuse, match="unauthorized"):
        corral.trl.environment("counting", client=corral.sync.Client(fleet.url, "corral_trainer_wrong"))


def test_the_example_trains_a_step(fleet: Fleet, run: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for name, value in {"CORRAL_URL": fleet.url, "CORRAL_KEY": fleet.key, "CORRAL_RUN": run}.items():
        monkeypatch.setenv(name, value)
    # Of the file's own trainer only what the model writes is replaced.
    monkeypatch.setattr(trl_sums, "GRPOTrainer", Scripted)
    tokenizer = tiny_tokenizer()
    options = {"max_steps": 1, "per_device_train_batch_size": 2, "num_generations": 2, "use_cpu": True}
    arguments = GRPOConfig(
        output_dir=str(tmp_path), report_to="none", save_strategy="no", bf16=False, **options
    )
    trainer = trl_sums.trainer_of(tiny_model(tokenizer), args=arguments, processing_class=tokenizer)
    assert isinstance(trainer, Scripted)
    trainer.commands = ["echo $((6 * 7))"] * 2
    trainer.train()
    report = fleet.report(run)
    assert (report["scored"], report["discarded"]) == (2, 0)
