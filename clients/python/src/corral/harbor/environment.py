"""The environment of Harbor that is a sandbox of the fleet."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Final

from harbor.environments.base import ExecResult, HealthcheckError
from harbor.models.task.config import HealthcheckConfig
from harbor.models.trial.config import TrialConfig

from ..client import Client
from ..errors import CorralError, Refused, RequirementsUnmet
from ..refusals import note_refusal
from ..rollout import Rollout
from ..standing import TaskKey
from .controls import ControlledTask, is_control, play_controls
from .demands import ANY_USER, AskedTask, Demands, find_demands
from .failing import refusal_error, told_to_harbor
from .late_refusals import another_grader, another_user, unhealthy
from .reward_settling import RewardSettler
from .rewards import RewardFile
from .sandbox import SandboxEnvironment
from .task_files import digest_task, verifier_bounds_s
from .verifying import PATHS, REMOVES_REWARDS, Verifying, is_verifier_dir

# Next to the instruction, in tasks that `corral rows --for harbor` wrote: the row that the fleet's own grader needs.
ROW: Final = "row.json"
# Where such a task tells the agent to leave its last message.
ANSWER: Final = "/workspace/answer.txt"
# More than the fleet grades by what it says: it has a score for an answer so long, whatever is in it.
TOO_LONG: Final = 1_200_000

_warned: set[str] = set()


class CorralEnvironment(SandboxEnvironment):
    """A sandbox of the fleet's environment that the keyword `environment` names; the row has the task's name as `id`, and its
    `docker_image` as `image`. `on_missing`: the reward where the policy left none that can be read."""

    def __init__(self, *given: Any, environment: str, on_missing: float = 0.0, **named: Any) -> None:
        self._environment: Final = environment
        self._on_missing: Final = float(on_missing)
        self._is_control: Final = is_control.get()
        self._has_started = False
        self._has_verified = False
        self._is_refused = False
        super().__init__(*given, **named)

    @cached_property
    def _folder(self) -> Path:
        return Path(self.environment_dir).parent

    @cached_property
    def _trial(self) -> TrialConfig:
        return TrialConfig.model_validate_json(self.trial_paths.config_path.read_text())

    @cached_property
    def _task(self) -> ControlledTask:
        return ControlledTask.at(self._folder, self._trial)

    @cached_property
    def _demands(self) -> Demands:
        return find_demands(
            AskedTask(
                config=self._task.config,
                environment=self.task_env_config,
                trial=self._trial,
                folder=self._folder,
                policies=self._policies,
                has_extra_compose=bool(self.extra_docker_compose_paths),
            )
        )

    @cached_property
    def _key(self) -> TaskKey:
        return TaskKey(Client(), self._environment, digest_task(self._folder, self._trial))

    @cached_property
    def _verifying(self) -> Verifying:
        return Verifying(verifier_bounds_s(self._task.config, self._trial), self.trial_paths)

    @cached_property
    def _row(self) -> dict[str, Any] | None:
        path = self._folder / ROW
        return json.loads(path.read_text()) if path.is_file() else None

    def _note(self, refusal: RequirementsUnmet) -> Exception:
        """The trial's error for a refusal. Those of controls are counted with the trials that wait for them."""
        if not self._is_control and not self._is_refused:
            note_refusal(self.environment_name, refusal)
            self.logger.warning(
                f"corral: refused trial {self._trial.trial_name}, neither scored nor retried: {refusal.message}"
            )
        self._is_refused = True
        return refusal_error(refusal)

    async def _refuse(self, refusal: RequirementsUnmet) -> Exception:
        """Discards the rollout in the fleet too, where it is not discarded already."""
        if self._rollout.discarded is None:
            try:
                await self._rollout.refuse(
                    refusal.requirement, wanted=refusal.wanted, given=refusal.given, fix=refusal.fix
                )
            except CorralError as error:
                self.logger.warning(f"the fleet did not take the refusal: {error}")
        return self._note(refusal)

    async def start(self, force_build: bool) -> None:
        refusal = (await asyncio.to_thread(lambda: self._demands)).refusal or self._grader_mismatch()
        if refusal is not None:
            raise self._note(refusal)
        self._warn_of(self._demands.differences)
        await self._open(attempt=1)

    @property
    def _has_controls(self) -> bool:
        """The fleet's own graders are tested by preflight, and a control has no controls."""
        return self._row is None and not self._is_control

    async def _read_key(self) -> TaskKey:
        return await asyncio.to_thread(lambda: self._key)

    def _grader_mismatch(self) -> RequirementsUnmet | None:
        if self._trial.verifier.disable or (self._row is not None) == self._is_graded_by_fleet:
            return None
        return another_grader(is_row=self._row is not None)

    @property
    def _is_graded_by_fleet(self) -> bool:
        path = self._trial.verifier.import_path
        if path is None:
            return False
        from harbor.utils.import_path import import_symbol

        from .verifier import CorralVerifier

        return issubclass(import_symbol(path), CorralVerifier)

    def _warn_of(self, differences: Sequence[str]) -> None:
        for each in differences:
            if each not in _warned:
                _warned.add(each)
                self.logger.warning(
                    f"corral: {self.environment_name}: {each}; logged once for all such tasks"
                )

    async def _open(self, attempt: int) -> None:
        self._has_started = False
        item = self._row or {"id": self.environment_name, "image": self.task_env_config.docker_image}
        # A task whose controls failed is refused at open.
        proof = {"task": (await self._read_key()).digest} if self._has_controls else {}
        with self._told():
            self._rollout_or_none = Rollout(
                self._environment,
                item=item,
                # A trial that is tried again has another context.
                rollout_id=f"{self.context_id or uuid.uuid4()}",
                attempt=attempt,
                labels=["control"] if self._is_control else [],
                requires={**self._demands.requires, **proof},
                client=Client(),
            )
        with self._setting_up():
            await self.ensure_dirs(self._mount_targets(writable_only=True))
            await self._upload_environment_dir_after_start()
        self._has_started = True

    async def run_healthcheck(self, healthcheck: HealthcheckConfig | None = None) -> None:
        """A check of the whole task that fails in two fresh sandboxes refuses it. A later step's check is of what the policy has
        left."""
        try:
            return await self._check_health(healthcheck)
        except HealthcheckError as error:
            if healthcheck is not None or not self._is_exit_code(error):
                raise
        self.logger.warning("corral: the health check failed; it is tried once more in a fresh sandbox")
        await self._rollout.finish()
        await self._open(attempt=2)
        try:
            await self._check_health(None)
        except HealthcheckError as error:
            if not self._is_exit_code(error):
                raise
            raise await self._refuse(
                unhealthy(self.task_env_config.healthcheck, self._last_result)
            ) from error

    async def _check_health(self, healthcheck: HealthcheckConfig | None) -> None:
        if healthcheck is not None:
            await super().run_healthcheck(healthcheck)
            return
        with self._setting_up():
            await super().run_healthcheck()

    def _is_exit_code(self, error: HealthcheckError) -> bool:
        """Whether the check's command ended by itself, as opposed to a lost sandbox or a timeout."""
        return error.__cause__ is None and self._last_result is not None and bool(self._last_result.exit_code)

    async def stop(self, delete: bool) -> None:
        if self._rollout_or_none is None:
            return
        try:
            if self._has_verified and not self._is_control and (reward := self._reward()) is not None:
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
        if wanted not in ANY_USER and str(wanted) != self._demands.user:
            raise await self._refuse(another_user(wanted))
        work = partial(
            self._execute, command, cwd or self.task_env_config.workdir, self._merge_env(env), timeout_sec
        )
        if self._has_controls and command == REMOVES_REWARDS:
            return await self._remove_rewards(work)
        if self._has_controls and self._verifying.begin(command):
            return await self._verify(work)
        return await work()

    async def _remove_rewards(self, remove: Callable[[], Awaitable[ExecResult]]) -> ExecResult:
        """A folder that the policy made a file, or closed, would end the verification without a reward. What cannot be removed
        after its repair is no reward."""
        self._verifying.note_start()
        removed = await remove()
        if removed.return_code == 0:
            return removed
        self.logger.warning(f"corral: the policy changed {PATHS.verifier_dir}: {removed.stderr}")
        repair = self._empty_dirs_command([PATHS.verifier_dir])
        await self._execute(f"chmod -R u+rwX {PATHS.logs_dir}; {repair}", None, None, None)
        if (await remove()).return_code != 0:
            self._verifying.distrust()
        return ExecResult(stdout="", stderr="", return_code=0)

    async def _verify(self, run_tests: Callable[[], Awaitable[ExecResult]]) -> ExecResult:
        """Runs the tests, then decides what counts as their reward while an exception still reaches Harbor as it is."""
        settler = RewardSettler(
            self._rollout,
            await self._read_key(),
            partial(play_controls, self._task),
            self._verifying,
            self._on_missing,
            self.logger,
        )
        try:
            result = await run_tests()
        except asyncio.CancelledError:
            if not self._verifying.is_out_of_time:
                raise
            await self._settled(settler.settle_timeout())
            return ExecResult(stdout="", stderr="", return_code=124)
        await self._settled(settler.settle())
        return result

    async def _settled(self, settling: Awaitable[None]) -> None:
        try:
            with self._told_but_refusals():
                await settling
        except RequirementsUnmet as refusal:
            await self._keep_verifier_output()
            raise await self._refuse(refusal) from refusal

    async def _keep_verifier_output(self) -> None:
        """A refusal discards the sandbox, and Harbor fetches nothing after it."""
        try:
            await super().download_dir(str(PATHS.verifier_dir), self.trial_paths.verifier_dir)
        except (HealthcheckError, OSError) as error:
            self.logger.warning(f"corral: the verifier's output was not fetched: {error}")

    @contextmanager
    def _told_but_refusals(self) -> Generator[None]:
        with told_to_harbor(lambda refusal: refusal):
            yield

    @property
    def _has_nothing_to_fetch(self) -> bool:
        """Harbor fetches logs after every error. A refused trial and one whose sandbox did not start have none, and Harbor would
        report each with a traceback."""
        return not self._has_started or self._is_refused

    async def download_file(self, source_path: str, target_path: Path | str) -> None:
        if not self._has_nothing_to_fetch:
            await super().download_file(source_path, target_path)

    async def upload_dir(self, source_dir: Path | str, target_dir: str) -> None:
        self._verifying.note_upload(target_dir)
        await super().upload_dir(source_dir, target_dir)

    async def download_dir(self, source_dir: str, target_dir: Path | str) -> None:
        if self._has_nothing_to_fetch:
            return
        await super().download_dir(source_dir, target_dir)
        if is_verifier_dir(source_dir):
            self._has_verified = True
            self._verifying.leave(Path(target_dir))

    async def grade(self) -> float:
        """By the grader of the fleet's environment, of the task's own row and what the agent left as its answer."""
        with self._told():
            return (await self._rollout.grade({"output_text": await self._answer()})).score

    async def _answer(self) -> str:
        try:
            said = (await self._rollout.read(ANSWER, most_bytes=TOO_LONG)).decode(errors="replace")
        except Refused as refused:
            # No answer, or none that is a file: the policy's doing, and graded.
            return TOO_LONG * " " if refused.code == "payload_too_large" else ""
        return said if len(json.dumps(said)) <= TOO_LONG else TOO_LONG * " "

    def _reward(self) -> float | None:
        """Of what Harbor reads. A file that cannot be read is no reward, and no zero."""
        paths = self.trial_paths
        path = paths.reward_json_path if paths.reward_json_path.exists() else paths.reward_text_path
        try:
            return RewardFile(path.name, path.read_bytes()).number
        except OSError:
            return None
