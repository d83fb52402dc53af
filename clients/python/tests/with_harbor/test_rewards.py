"""What a verifier may leave as its reward, and what that is worth."""

from __future__ import annotations

import json
from typing import Any

import pytest

from corral.harbor.rewards import RewardFile, is_full, is_zero


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[" * 100_000,
        "1" + "0" * 400,
        '{"reward": 1e999}',
        '{"reward": "1"}',
        '{"reward": 1, "speed": NaN}',
        "NaN",
        "null",
        "{}",
        '"one"',
        "[1]",
        "1.0",
    ],
)
def test_what_a_policy_may_leave_as_its_reward_is_no_number_and_no_error(text: str):
    assert RewardFile("reward.json", text.encode()).rewards is None


@pytest.mark.parametrize("text", ["", "one", "nan", "inf", "1e999", "{}", "\xff"])
def test_text_that_is_not_a_number_is_a_missing_reward(text: str):
    assert RewardFile("reward.txt", text.encode("latin-1")).rewards is None
    assert RewardFile("reward.txt", None).number is None


def test_a_reward_that_harbor_accepts_is_read_as_harbor_reads_it():
    assert RewardFile("reward.txt", b" 0.5\n").number == 0.5
    assert RewardFile("reward.json", b'{"reward": 0.5, "speed": 2}').rewards == {"reward": 0.5, "speed": 2}
    assert RewardFile("reward.json", b'{"speed": 2}').number is None


@pytest.mark.parametrize(
    ("rewards", "is_nothing"),
    [
        ({"reward": 0.0}, True),
        ({"reward": 0.0, "speed": 2.0}, True),
        ({"reward": -1.0}, False),
        ({"correct": 0.0, "speed": 0.0}, True),
        ({"correct": 0.0, "speed": 2.0}, False),
    ],
)
def test_a_zero_is_told_by_the_reward_of_that_name_or_by_all(rewards: dict[str, float], is_nothing: bool):
    assert is_zero(rewards) == is_nothing


@pytest.mark.parametrize(
    ("rewards", "declared", "is_all"),
    [
        ({"reward": 1.0}, None, True),
        ({"reward": 0.99}, None, False),
        ({"reward": 3.0}, None, True),
        ({"reward": 1.0}, 10, False),
        ({"reward": 10.0}, 10, True),
        ({"correct": 1.0, "speed": 0.5}, None, False),
        ({"correct": 1.0, "speed": 0.5}, {"correct": 1, "speed": 0.5}, True),
        ({"correct": 1.0}, {"correct": 1, "speed": 0.5}, False),
        ({"reward": 0.5}, "all", False),
    ],
)
def test_the_full_reward_is_what_the_task_declares_else_one(
    rewards: dict[str, float], declared: Any, is_all: bool
):
    assert is_full(rewards, declared) == is_all, json.dumps(rewards)
