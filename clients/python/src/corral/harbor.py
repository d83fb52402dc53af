"""Corral for Harbor: `--environment-import-path corral.harbor:CorralEnvironment --ek environment=harbor`.

What was lost is Harbor's `HealthcheckError`, in every later call too: the trial's cause is `sandbox_failed`, it has no reward,
and `TrialResult.reward_valid` is false. What the policy did is an exit code, 124 for a time-out.
"""

from __future__ import annotations

import json
import math
import uuid
from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, Final

from harbor.environments.base import BaseEnvironment, ExecResult, HealthcheckError
from harbor.environments.capabilities import EnvironmentCapabilities, EnvironmentResourceCapabilities
from harbor.models.trial.error_policy import FailureCause
from harbor.models.trial.paths import EnvironmentPaths
from harbor.models.trial.result import TrialResult
from harbor.models.verifier.result import VerifierResult
from harbor.verifier.base import BaseVerifier

from .client import Client
from .errors import CorralError, Discarded, Refused, Unavailable
from .results import CallResult
from .rollout import Rollout
from .telling import LONGEST_COMMAND_S, told_as

__all__ = ["CorralEnvironment", "CorralVerifier", "reward_of"]

# The fleet's environment has them as `sandbox.folders`, or the image has them.
FOLDERS: Final = "/logs /tests /solution"
FOLDERS_ARE_THERE: Final = f'for each in {FOLDERS}; do mkdir -p "$each" && [ -w "$each" ] || exit 1; done'

# Beside the instruction, in tasks that `corral rows --for harbor` wrote: the row that the fleet's own grader needs.
ROW: Final = "row.json"
# Where such a task tells the agent to leave its last message.
ANSWER: Final = "/workspace/answer.txt"
# More than the fleet grades by what it says: it has a score for an answer so long, whatever is in it.
TOO_LONG: Final = 1_200_000

_told: Final = partial(told_as, HealthcheckError)


async def reward_of(trial: TrialResult, *, name: str = "reward", taken_away: float = 0.0) -> float | None:
    """A trial's reward; None for what was lost, which belongs in no mean. `taken_away`: what it is worth that the policy made
    its own grading impossible, which Harbor tells like a loss. The fleet is asked which it was."""
    measured = None if trial.verifier_result is None else (trial.verifier_result.rewards or {}).get(name)
    if trial.reward_valid:
        return measured
    if not may_be_the_policys(trial):
        return None
    try:
        # Nothing is opened by asking.
        verdict = await Rollout("", rollout_id=str(trial.id)).verdict()
    except (Discarded, Unavailable):
        return None
    if not verdict.scorable:
        return None
    return taken_away if measured is None else measured


def may_be_the_policys(trial: TrialResult) -> bool:
    """Whether what Harbor calls a failure may be the policy's doing. Harbor has no name for most of what can go wrong; before
    anything was verified it was the agent's own program here, or its way to the model, and no measure of the policy."""
    if trial.failure_cause == FailureCause.VERIFIER_FAILED:
        return True
    is_verified = any(each.verifier is not None for each in (trial, *(trial.step_results or [])))
    return trial.failure_cause == FailureCause.UNCLASSIFIED and is_verified


class CorralEnvironment(BaseEnvironment):
    """A sandbox of the fleet's environment that the keyword `environment` names; the row has the task's name as `id`, and its
    `docker_image` as `image`."""

    def __init__(self, *given: Any, environment: str, **named: Any) -> None:
        self._environment: Final = environment
        self._rollout_or_none: Rollout | None = None
        self._has_verified = False
        super().__init__(*given, **named)

    @staticmethod
    def type() -> str:
        return "corral"

    @classmethod
    def preflight(cls) -> None:
        with _told():
            Client()

    @classmethod
    def resource_capabilities(cls) -> EnvironmentResourceCapabilities:
        return EnvironmentResourceCapabilities()

    @property
    def capabilities(self) -> EnvironmentCapabilities:
        return EnvironmentCapabilities(disable_internet=True)

    def _validate_definition(self) -> None:
        if not self.task_env_config.docker_image:
            raise ValueError(f"{self.environment_name} has no docker_image, and Corral builds no Dockerfile")

    @property
    def _row(self) -> dict[str, Any] | None:
        path = Path(self.environment_dir).parent / ROW
        return json.loads(path.read_text()) if path.is_file() else None

    @property
    def _rollout(self) -> Rollout:
        if self._rollout_or_none is None:
            raise HealthcheckError("the environment was not started")
        return self._rollout_or_none

    async def start(self, force_build: bool) -> None:
        if not self.session_id.endswith("__env"):
            raise SystemExit("corral: a verifier with an environment of its own is not supported")
        item = self._row or {"id": self.environment_name, "image": self.task_env_config.docker_image}
        with _told():
            self._rollout_or_none = Rollout(
                self._environment,
                item=item,
                # A trial that is tried again has another context.
                rollout_id=f"{self.context_id or uuid.uuid4()}",
                client=Client(),
            )
            there = await self._rollout.exec(FOLDERS_ARE_THERE)
        if there.return_code != 0:
            raise SystemExit(
                f"corral: {self._environment} has no writable {FOLDERS}: give its sandbox folders {there.stderr.strip()}"
            )
        await self.ensure_dirs(self._mount_targets(writable_only=True))
        await self._upload_environment_dir_after_start()

    async def stop(self, delete: bool) -> None:
        if self._rollout_or_none is None:
            return
        try:
            if self._has_verified and (reward := self._reward()) is not None:
                await self._rollout.score(reward)
        except CorralError as error:
            self.logger.warning(f"the fleet did not take the reward: {error}")
        finally:
            await self._rollout.finish()

    async def exec(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: int | None = None,
        user: str | int | None = None,
    ) -> ExecResult:
        wanted = self._resolve_user(user)
        if wanted not in (None, "root", 0, "0"):
            raise SystemExit(f"corral: commands run as the sandbox's one user, and the task wants {wanted!r}")
        try:
            result = await self._run(
                command, cwd or self.task_env_config.workdir, self._merge_env(env), timeout_sec
            )
        except Refused as refused:
            return ExecResult(stdout="", stderr=str(refused), return_code=126)
        return ExecResult(stdout=result.stdout, stderr=result.stderr, return_code=result.return_code)

    async def _run(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_s: float | None = None,
    ) -> CallResult:
        with _told():
            return await self._rollout.exec(
                command, cwd=cwd, env=env, timeout_s=timeout_s or LONGEST_COMMAND_S
            )

    async def upload_file(self, source_path: Path | str, target_path: str) -> None:
        with _told(), self._not_lost(f"{target_path} was not written"):
            await self._rollout.exec(["mkdir", "-p", "--", str(PurePosixPath(target_path).parent)])
            await self._rollout.write(target_path, Path(source_path).read_bytes())  # noqa: ASYNC240

    async def upload_dir(self, source_dir: Path | str, target_dir: str) -> None:
        if self._row is not None and PurePosixPath(target_dir) == EnvironmentPaths().tests_dir:
            # Its tests would give no reward, and that would look like the policy's doing.
            use = "run it with --verifier-import-path corral.harbor:CorralVerifier"
            raise SystemExit(f"corral: {self.environment_name} is graded by the fleet: {use}")
        with _told(), self._not_lost(f"{target_dir} was not written"):
            await self._rollout.upload_dir(source_dir, target_dir)

    async def download_file(self, source_path: str, target_path: Path | str) -> None:
        with _told(), self._not_lost(f"{source_path} was not read"):
            Path(target_path).write_bytes(await self._rollout.read(source_path))  # noqa: ASYNC240

    async def download_dir(self, source_dir: str, target_dir: Path | str) -> None:
        Path(target_dir).mkdir(parents=True, exist_ok=True)  # noqa: ASYNC240
        with _told(), self._not_lost(f"{source_dir} was not read"):
            left_out = await self._rollout.download_dir(source_dir, target_dir)
            if left_out:
                self.logger.debug(f"links of {source_dir} were left out: {left_out}")
        self._has_verified |= PurePosixPath(source_dir) == EnvironmentPaths().verifier_dir

    @contextmanager
    def _not_lost(self, what: str) -> Generator[None]:
        """What the policy did to its files must not look like a lost sandbox, which any exception here does to Harbor: then
        the tests or the reward are missing, and that is the policy's."""
        try:
            yield
        except Refused as refused:
            self.logger.warning(f"{what}: {refused}")

    async def grade(self) -> float:
        """By the grader of the fleet's environment, of the task's own row and what the agent left as its answer."""
        if self._row is None:
            raise SystemExit(
                f"corral: {self.environment_name} is no task of corral rows: leave its verifier out"
            )
        with _told():
            return (await self._rollout.grade({"output_text": await self._answer()})).score

    async def _answer(self) -> str:
        try:
            said = (await self._rollout.read(ANSWER, most_bytes=TOO_LONG)).decode(errors="replace")
        except Refused as refused:
            # No answer, or none that is a file: the policy's doing, and graded.
            return TOO_LONG * " " if refused.code == "payload_too_large" else ""
        return said if len(json.dumps(said)) <= TOO_LONG else TOO_LONG * " "

    def _reward(self) -> float | None:
        paths = self.trial_paths
        try:
            if paths.reward_json_path.exists():
                return number_in(paths.reward_json_path.read_text(), is_json=True)
            return number_in(paths.reward_text_path.read_text())
        except (OSError, UnicodeError):
            return None


class CorralVerifier(BaseVerifier):
    """`--verifier-import-path corral.harbor:CorralVerifier`, for tasks of `corral rows --for harbor`: the reward is the
    fleet's, whose grader the policy can neither read nor reach."""

    async def verify(self) -> VerifierResult:
        if not isinstance(self.environment, CorralEnvironment):
            raise SystemExit("corral: CorralVerifier grades what ran in corral.harbor:CorralEnvironment")
        return VerifierResult(rewards={"reward": await self.environment.grade()})


def number_in(text: str, *, is_json: bool = False) -> float | None:
    """What Harbor's verifier has left, where it is one finite number. The policy may have had a hand in it: digits without
    end and lists in lists without end are no number, and no error."""
    try:
        told = json.loads(text) if is_json else text
        reward = float(told["reward"] if isinstance(told, dict) else told)
    except (ValueError, KeyError, TypeError, ArithmeticError, RecursionError):
        return None
    return reward if math.isfinite(reward) else None
