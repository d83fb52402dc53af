"""Tells Harbor's verifier from every other command of a trial, and keeps the reward that counts.

Harbor's verifier removes old rewards, uploads the tests, runs them and fetches their folder. Only the command in between may
end a trial with an exception of Corral's own name: what an upload or a download raises, Harbor renames.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Final

from harbor.models.trial.paths import EnvironmentPaths, TrialPaths

from .rewards import JSON_NAME, TEXT_NAME, RewardFile

PATHS: Final = EnvironmentPaths()
REMOVES_REWARDS: Final = f"rm -f -- {PATHS.reward_text_path} {PATHS.reward_json_path}"
# A timer's own lateness, and the moment between Harbor's clock and this one.
SLACK_S: Final = 0.5


class Verifying:
    """The verifications of one environment, one after the other: one, or one of each step."""

    def __init__(self, bounds_s: Sequence[float], paths: TrialPaths) -> None:
        self._bounds_s: Final = bounds_s
        self._output: Final = str(PATHS.verifier_dir / paths.test_stdout_path.name)
        self._count = 0
        self._began_at = 0.0
        self._are_tests_there = False
        self._is_distrusted = False
        self._settled: RewardFile | None = None

    def note_start(self) -> None:
        """Harbor's first command of a verification, when its time begins."""
        self._began_at = asyncio.get_running_loop().time()
        self._is_distrusted = False

    def distrust(self) -> None:
        """Whatever stands in the reward files was there before the tests."""
        self._is_distrusted = True

    @property
    def is_distrusted(self) -> bool:
        return self._is_distrusted

    def note_upload(self, target: str) -> None:
        self._are_tests_there |= PurePosixPath(target) == PATHS.tests_dir

    def begin(self, command: str) -> bool:
        """Whether this command runs the tests, which nothing but Harbor uploads."""
        is_verifier = self._are_tests_there and self._output in command
        if is_verifier:
            self._are_tests_there, self._settled = False, None
            self._count += 1
        return is_verifier

    @property
    def bound_s(self) -> float:
        """How long Harbor lets this verification take."""
        return self._bounds_s[min(self._count, len(self._bounds_s)) - 1]

    @property
    def is_out_of_time(self) -> bool:
        """Whether Harbor has just cancelled the verification, as opposed to the whole trial."""
        took_s = asyncio.get_running_loop().time() - self._began_at
        return took_s >= self.bound_s - SLACK_S

    def settle(self, reward: RewardFile) -> None:
        """From now on this is the reward, whatever is still running in the sandbox."""
        self._settled = reward

    def leave(self, folder: Path) -> None:
        """Writes the settled reward where Harbor reads it, and removes every other."""
        if self._settled is None:
            return
        for name in (JSON_NAME, TEXT_NAME):
            path = folder / name
            if path.is_dir():
                shutil.rmtree(path)
            path.unlink(missing_ok=True)
        if self._settled.content is not None:
            (folder / self._settled.name).write_bytes(self._settled.content)


def is_verifier_dir(path: str) -> bool:
    return PurePosixPath(path) == PATHS.verifier_dir
