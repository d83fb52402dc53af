"""Decides what a missing or zero reward means: the policy's own doing, or a task that cannot be rewarded here.

A zero stands, and a missing reward is `on_missing`, where the task's controls show that its verifier and its own solution work in
this environment. Otherwise the task is refused. What the controls leave open is a discard.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from logging import Logger, LoggerAdapter
from typing import Final

from harbor.environments.base import HealthcheckError

from ..errors import Refused, RequirementsUnmet
from ..refusals import unmet
from ..rollout import Rollout
from ..settling import Play, Played, begin_settling, settle_standing
from ..standing import TaskKey
from .rewards import JSON_NAME, LONGEST_FILE, TEXT_NAME, RewardFile, is_zero
from .verifying import PATHS, Verifying

# For a standing that the fleet has recorded; it answers at once.
KNOWN_WITHIN_S: Final = 5.0


def refuse_by_controls(reason: str, environment: str) -> RequirementsUnmet:
    return unmet(
        "reward",
        wanted="the verifier leaves a reward, and the task's own solution earns the full one",
        given=f"its controls failed twice in this environment: {reason}",
        fix="change the task's files or the environment, then run "
        f"python -m corral.harbor check TASK --environment {environment}",
    )


@dataclass(frozen=True)
class RewardSettler:
    """Settles the reward of one verification. `play`: plays the task's controls."""

    rollout: Rollout
    key: TaskKey
    play: Play
    verifying: Verifying
    on_missing: float
    logger: Logger | LoggerAdapter[Logger]

    async def settle(self) -> None:
        """Raises RequirementsUnmet for a refused task, and HealthcheckError where the standing stays open."""
        left = await self._read_reward()
        if left.rewards is not None and not is_zero(left.rewards):
            return self.verifying.settle(left)
        played = await self._wait_for_standing()
        self._throw_unless_decided(played)
        if left.rewards is None:
            return self._give_missing(played)
        if played.outcome == "unproven":
            self.logger.warning(f"corral: the task is unproven, and its reward of 0 stands: {played.reason}")
        return self.verifying.settle(left)

    async def settle_timeout(self) -> None:
        """For a verifier that ran out of its time. It is the policy's doing only where the task's own solution is verified in
        less than half of that."""
        played = await self._ask_known_standing()
        if played is not None:
            self._throw_unless_decided(played)
        took_s = None if played is None or played.outcome != "proven" else played.solution_verifier_took_s
        bound_s = self.verifying.bound_s
        if played is None or took_s is None or took_s >= bound_s / 2:
            usual = (
                "how long it takes with the task's own solution is not known"
                if took_s is None
                else f"with the task's own solution it took {took_s:.0f} s, which is not less than half of that"
            )
            raise HealthcheckError(
                f"the verifier did not end within its {bound_s:.0f} s, and {usual}; so this trial has no reward"
            )
        self._give_missing(played)

    async def _read_reward(self) -> RewardFile:
        if self.verifying.is_distrusted:
            return RewardFile(TEXT_NAME, None)
        try:
            path = str(PATHS.reward_json_path)
            return RewardFile(JSON_NAME, await self.rollout.read(path, most_bytes=LONGEST_FILE))
        except Refused as refused:
            if refused.evidence.get("errno") != "ENOENT":
                return RewardFile(JSON_NAME, None)
        try:
            path = str(PATHS.reward_text_path)
            return RewardFile(TEXT_NAME, await self.rollout.read(path, most_bytes=LONGEST_FILE))
        except Refused:
            return RewardFile(TEXT_NAME, None)

    async def _wait_for_standing(self) -> Played:
        self.logger.info("corral: the reward is missing or 0, so the task's controls decide what that means")
        try:
            return await settle_standing(self.key, self.play)
        except asyncio.CancelledError:
            if self.verifying.is_out_of_time:
                raise HealthcheckError("the verifier's time ended before the task's controls did") from None
            raise

    async def _ask_known_standing(self) -> Played | None:
        settling = begin_settling(self.key, self.play)
        done, _ = await asyncio.wait({settling}, timeout=KNOWN_WITHIN_S)
        return settling.result() if done else None

    def _give_missing(self, played: Played) -> None:
        self.logger.warning(
            f"corral: no reward was left that can be read, so it is {self.on_missing} (on_missing); "
            f"the task is {played.outcome}"
        )
        self.verifying.settle(RewardFile(TEXT_NAME, str(self.on_missing).encode()))

    def _throw_unless_decided(self, played: Played) -> None:
        if played.outcome == "refused" and played.requirement == "reward":
            raise refuse_by_controls(played.reason, self.key.environment)
        if played.outcome in ("refused", "inconclusive"):
            raise HealthcheckError(f"the task's controls showed nothing: {played.reason}")
