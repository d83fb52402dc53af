"""What a verifier left as the reward, read as Harbor reads it.

The policy may have had a hand in these files. Digits without end, lists in lists without end and text that is not a number
make a reward missing; they are neither an error here nor a zero.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

JSON_NAME: Final = "reward.json"
TEXT_NAME: Final = "reward.txt"
# More than any verifier writes.
LONGEST_FILE: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class RewardFile:
    """The file that Harbor takes the reward from: `reward.json` where it exists. `content`: None where it cannot be read."""

    name: str
    content: bytes | None

    @property
    def rewards(self) -> dict[str, float] | None:
        """Every named reward; None where there is no reward that Harbor accepts."""
        try:
            text = (self.content or b"").decode()
            return _read(json.loads(text) if self.name == JSON_NAME else {"reward": float(text)})
        except (ValueError, ArithmeticError, RecursionError):
            return None

    @property
    def number(self) -> float | None:
        """The one number of a reward that is one."""
        rewards = self.rewards or {}
        return rewards.get("reward")


def _read(parsed: Any) -> dict[str, float] | None:
    if not isinstance(parsed, dict):
        return None
    rewards = cast("dict[str, Any]", parsed)
    numbers = {name: float(each) for name, each in rewards.items() if isinstance(each, int | float)}
    is_whole = len(numbers) == len(rewards) > 0 and all(math.isfinite(each) for each in numbers.values())
    return numbers if is_whole else None


def is_zero(rewards: Mapping[str, float]) -> bool:
    """Whether nothing was earned: `reward` is 0, or without a reward of that name, all are."""
    return rewards["reward"] == 0 if "reward" in rewards else not any(rewards.values())


def is_full(rewards: Mapping[str, float], declared: Any) -> bool:
    """Whether the task's own solution earned everything.

    `declared`: `max_reward` in the task's `[metadata]`, one number or a table by name. Without it the full reward is 1.0. It is
    compared with `reward`, or where no reward has that name, with each of them.
    """
    if isinstance(declared, dict):
        wanted = {str(name): _number(each) for name, each in cast("dict[Any, Any]", declared).items()}
        return all(rewards.get(name, -math.inf) >= least for name, least in wanted.items())
    least = _number(declared)
    measured = [rewards["reward"]] if "reward" in rewards else list(rewards.values())
    return all(each >= least for each in measured)


def _number(declared: Any) -> float:
    return float(declared) if isinstance(declared, int | float) else 1.0
