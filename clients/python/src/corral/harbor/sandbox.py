"""The part of the environment that Harbor uses all the time: commands and files in the rollout's sandbox."""

from __future__ import annotations

import shutil
import tempfile
from abc import abstractmethod
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any, Final

from harbor.environments.base import BaseEnvironment, ExecResult, HealthcheckError
from harbor.environments.capabilities import EnvironmentCapabilities, EnvironmentResourceCapabilities
from harbor.models.task.config import NetworkPolicy
from harbor.utils.path_filter import filter_paths_by_patterns

from ..client import Client
from ..errors import CorralError, Refused, RequirementsUnmet
from ..results import CallResult
from ..rollout import Rollout
from ..writing import LONGEST_COMMAND_S
from .failing import told_to_harbor


class SandboxEnvironment(BaseEnvironment):
    """Refuses nothing by itself. Harbor ends the whole job where an environment lacks a capability, so this one claims all of
    them, and its subclass refuses a task by name."""

    def __init__(self, *given: Any, **named: Any) -> None:
        self._rollout_or_none: Rollout | None = None
        self._last_result: CallResult | None = None
        self._is_setting_up = False
        self._policies: Final[tuple[NetworkPolicy, ...]] = tuple(
            each
            for each in (named.get("network_policy"), *(named.get("phase_network_policies") or ()))
            if each is not None
        )
        super().__init__(*given, **named)

    @staticmethod
    def type() -> str:
        return "corral"

    @classmethod
    def preflight(cls, kwargs: dict[str, Any] | None = None) -> None:
        try:
            Client()
        except CorralError as error:
            raise SystemExit(f"corral: {error}") from error

    @classmethod
    def resource_capabilities(cls) -> EnvironmentResourceCapabilities:
        return EnvironmentResourceCapabilities(fractional_cpus=True)

    @property
    def capabilities(self) -> EnvironmentCapabilities:
        return EnvironmentCapabilities(
            gpus=True,
            tpus=True,
            windows=True,
            docker_compose=True,
            disable_internet=True,
            dynamic_network_policy=True,
            network_allowlist=True,
            network_allowlist_hostnames=True,
            network_allowlist_wildcard_hostnames=True,
            network_allowlist_ipv4_addresses=True,
            network_allowlist_ipv6_addresses=True,
            network_allowlist_ipv4_cidrs=True,
            network_allowlist_ipv6_cidrs=True,
        )

    def _validate_definition(self) -> None:
        """An exception here would end the whole job."""

    async def set_network_policy(self, network_policy: NetworkPolicy) -> None:
        """Nothing to switch: a task that wants another network in some phase was refused."""

    @property
    def _rollout(self) -> Rollout:
        if self._rollout_or_none is None:
            raise HealthcheckError("the environment was not started")
        return self._rollout_or_none

    @abstractmethod
    def _note(self, refusal: RequirementsUnmet) -> Exception:
        """Counts a refusal and returns the trial's error."""

    @contextmanager
    def _told(self) -> Generator[None]:
        with told_to_harbor(self._note):
            yield

    @contextmanager
    def _setting_up(self) -> Generator[None]:
        """Within, all is preparation of this adapter's own: the fleet may run it again in another sandbox."""
        self._is_setting_up = True
        try:
            yield
        finally:
            self._is_setting_up = False

    @property
    def _mark(self) -> bool:
        return self._is_setting_up and self._rollout.takes_setup

    async def _execute(
        self, command: str, cwd: str | None, env: dict[str, str] | None, timeout_s: float | None
    ) -> ExecResult:
        try:
            with self._told():
                result = self._last_result = await self._rollout.exec(
                    command,
                    cwd=cwd,
                    env=env,
                    timeout_s=min(timeout_s or LONGEST_COMMAND_S, LONGEST_COMMAND_S),
                    setup=self._mark,
                )
        except Refused as refused:
            return ExecResult(stdout="", stderr=str(refused), return_code=126)
        is_cut = result.timed_out and (timeout_s or 0) > LONGEST_COMMAND_S
        note = f"[a command runs for {LONGEST_COMMAND_S:.0f} s at most]\n" if is_cut else ""
        return ExecResult(stdout=result.stdout, stderr=result.stderr + note, return_code=result.return_code)

    async def upload_file(self, source_path: Path | str, target_path: str) -> None:
        with self._told(), self._not_lost(f"{target_path} was not written"):
            await self._rollout.exec(["mkdir", "-p", "--", str(PurePosixPath(target_path).parent)])
            await self._rollout.write(target_path, Path(source_path).read_bytes())  # noqa: ASYNC240

    async def upload_dir(self, source_dir: Path | str, target_dir: str) -> None:
        with self._told(), self._not_lost(f"{target_dir} was not written"):
            await self._rollout.upload_dir(source_dir, target_dir, setup=self._mark)

    async def download_file(self, source_path: str, target_path: Path | str) -> None:
        with self._told(), self._not_lost(f"{source_path} was not read"):
            Path(target_path).write_bytes(await self._rollout.read(source_path))  # noqa: ASYNC240

    async def download_dir(self, source_dir: str, target_dir: Path | str) -> None:
        Path(target_dir).mkdir(parents=True, exist_ok=True)  # noqa: ASYNC240
        with self._told(), self._not_lost(f"{source_dir} was not read"):
            left_out = await self._rollout.download_dir(source_dir, target_dir)
            if left_out:
                self.logger.debug(f"links and unreadable files of {source_dir} were left out: {left_out}")

    async def download_dir_filtered(
        self,
        *,
        source_dir: str,
        target_dir: Path | str,
        include: Sequence[str] | None = None,
        exclude: Sequence[str] | None = None,
        protect: Sequence[str] | None = None,
    ) -> None:
        """Filtered on this machine: a folder that the policy has removed must not be an error of the machinery."""
        with tempfile.TemporaryDirectory() as folder:
            await self.download_dir(source_dir, folder)
            found = [path for path in Path(folder).rglob("*") if path.is_file()]  # noqa: ASYNC240
            names = [path.relative_to(folder).as_posix() for path in found]
            chosen = {*filter_paths_by_patterns(names, include=include, exclude=exclude), *(protect or ())}
            for name in chosen.intersection(names):
                target = Path(target_dir) / name
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(Path(folder) / name, target)

    @contextmanager
    def _not_lost(self, what: str) -> Generator[None]:
        """What the policy did to its files must not look like a lost sandbox, which any exception here does to Harbor: then
        the tests or the reward are missing, and that is the policy's."""
        try:
            yield
        except Refused as refused:
            self.logger.warning(f"{what}: {refused}")
