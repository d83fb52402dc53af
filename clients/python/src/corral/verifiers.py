"""Corral for verifiers, and so for prime-rl: `--env.id corral_verifiers --env.environment shell`.

Each episode borrows a sandbox of the fleet, and the model's loop runs here beside the trainer and calls the environment's
tools: nothing in the sandbox needs a way to the model, so `network: none` is enough.

What was lost is a `SandboxError`: its trace is not `ok`, has no reward, and prime-rl takes neither of them for its mean. What
the policy did, its time-outs too, is text for the model, and is scored. A task that the environment cannot run is refused: its
episode fails with `RequirementsUnmet`, has no reward and is not retried, and the job goes on.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, Final, Self

import verifiers.v1 as vf
from openai import APIStatusError, AsyncOpenAI, omit
from pydantic import model_validator
from verifiers.v1.clients import ModelContext
from verifiers.v1.dialects.chat import message_to_wire
from verifiers.v1.harnesses.utils.compaction import is_context_overflow
from verifiers.v1.runtimes.docker import DockerRuntimeInfo

from . import errors
from .client import Client
from .errors import Refused
from .refusals import note_refusal, unmet
from .rollout import LONGEST_FILE_BYTES, Rollout
from .telling import told_as
from .writing import LONGEST_COMMAND_S

__all__ = [
    "CorralEnv",
    "CorralEnvConfig",
    "CorralHarness",
    "CorralRuntime",
    "RequirementsUnmet",
    "RewardMissing",
    "Rows",
    "grade",
]

GIB: Final = 1024**3


class RequirementsUnmet(vf.SandboxError):
    """The task was refused. No retry covers an error of this name; see `CorralEnvConfig`."""


class RewardMissing(vf.TaskError):
    """A reward function of the task did not run to its end, or returned no finite number. That is not a 0."""


class CorralEnvConfig(vf.SingleAgentEnvConfig):
    """`environment`: the fleet's, by its name. Where the fleet is says CORRAL_URL, CORRAL_KEY and CORRAL_RUN."""

    environment: str = ""
    # A runtime that is elsewhere would need a tunnel to the model; our loop runs here.
    agent: vf.AgentConfig = vf.AgentConfig(runtime=vf.DockerConfig())

    @model_validator(mode="before")
    @classmethod
    def _driven_from_here(cls, data: Any) -> Any:
        if isinstance(data, dict) and isinstance(data.setdefault("agent", {}), dict):
            data["agent"].setdefault("harness", {"id": "corral_verifiers"})
        return data

    @model_validator(mode="after")
    def _never_retries_refusals(self) -> Self:
        rule = vf.RetryRule(type=RequirementsUnmet.__name__, max_retries=0)
        if rule not in self.retries.rules:
            self.retries = self.retries.model_copy(update={"rules": [rule, *self.retries.rules]})
        return self


class CorralEnv(vf.Env[CorralEnvConfig]):
    """One agent, one task, one sandbox of the fleet."""

    def __init__(self, config: CorralEnvConfig) -> None:
        super().__init__(config)
        if config.environment == "":
            raise ValueError("say which of the fleet's environments: --env.environment shell")
        self._client: Final = Client()
        self._job: dict[str, Any] | None = None

    @property
    def _is_driven_from_here(self) -> bool:
        return all(isinstance(harness, CorralHarness) for harness in self._harnesses.values())

    async def start(self) -> None:
        """A wrong key or name stops the job here, before any rollout could be discarded for it."""
        self._job = await self._client.tools(self.config.environment)

    async def run(self, task: vf.Task, agents: vf.Agents) -> None:
        job = self._job or await self._client.tools(self.config.environment)
        with _told(task.data):
            rollout = Rollout(
                self.config.environment,
                item=_row_of(task.data),
                group=task.key,
                requires=requires_of(task.data, self._is_driven_from_here),
                client=self._client,
            )
        box = CorralRuntime(rollout, job, task.data)
        try:
            await box.start()
            trace = await agents.agent.run(task, runtime=box)
            if trace.ok:
                await _ask_the_fleet(box, trace)
        finally:
            await box.stop()


def _row_of(data: vf.TaskData) -> dict[str, Any]:
    return data.item if isinstance(data, Row) else data.model_dump(mode="json", exclude_none=True)


async def _ask_the_fleet(box: CorralRuntime, trace: vf.Trace) -> None:
    """A reward that came about without the sandbox, or in spite of it, is none where the fleet discards the rollout."""
    try:
        if (missing := find_missing(trace)) is not None:
            raise RewardMissing(f"{missing} left no finite number, and that is not a 0")
        await box.account(trace.reward if trace.rewards else None)
    except (vf.SandboxError, RewardMissing) as error:
        trace.rewards.clear()
        trace.record_error(error)


def find_missing(trace: vf.Trace) -> str | None:
    """The first reward of the task that is not there: scoring ran out of its time, or the number is not finite."""
    return next(
        (name for name, reward in trace.rewards.items() if reward is None or not math.isfinite(reward.value)),
        None,
    )


def requires_of(data: vf.TaskData, is_driven_from_here: bool) -> dict[str, Any]:
    """What the task demands of its sandbox, for the fleet. Raises RequirementsUnmet for what no sandbox has."""
    refusal = _find_refusal(data)
    if refusal is not None:
        raise refusal
    resources, timeout = data.resources, data.timeout
    # An agent whose loop runs beside the trainer is not one command in the sandbox.
    agent = None if is_driven_from_here else timeout.agent
    seconds = [each for each in (timeout.setup, timeout.finalize, timeout.scoring, agent) if each is not None]
    wanted = {
        "workdir": data.workdir,
        "memory_bytes": None if resources.memory is None else round(resources.memory * GIB),
        "cpu_milli": None if resources.cpu is None else round(resources.cpu * 1000),
        "disk_bytes": None if resources.disk is None else round(resources.disk * GIB),
        "command_timeout_s": max(seconds, default=None),
    }
    return {name: each for name, each in wanted.items() if each is not None}


def _find_refusal(data: vf.TaskData) -> errors.RequirementsUnmet | None:
    if data.agent_user is not None:
        return unmet(
            "user",
            wanted=f"the task wants its agent to run as {data.agent_user} and its rewards as another user",
            given="commands run as the sandbox's one user",
            fix="remove agent_user from the task's data",
        )
    if data.resources.gpu is not None:
        return unmet(
            "gpu",
            wanted=f"the task wants the GPU {data.resources.gpu}",
            given="sandboxes have no accelerators",
            fix="remove resources.gpu from the task's data",
        )
    if "*" not in data.network_allow or data.network_block:
        return unmet(
            "network",
            wanted="the task wants a network policy of its own",
            given="a sandbox has one network, which the environment names",
            fix="remove network_allow and network_block from the task's data",
        )
    return None


def _refuse(data: vf.TaskData, refusal: errors.RequirementsUnmet) -> RequirementsUnmet:
    note_refusal(str(data.name or data.id or data.idx), refusal)
    return RequirementsUnmet(f"{refusal.requirement}: {refusal.message}")


def _told(data: vf.TaskData) -> AbstractContextManager[None]:
    return told_as(vf.SandboxError, partial(_refuse, data))


class CorralRuntime(vf.Runtime):
    """A sandbox of the fleet. Its configuration is called one of Docker, and its id is in `info`: what verifiers reads a
    trace back with knows no other kinds."""

    def __init__(self, rollout: Rollout, job: Mapping[str, Any], data: vf.TaskData) -> None:
        super().__init__(rollout.rollout_id)
        self.rollout: Final = rollout
        self.functions: Final[list[Any]] = job["functions"]
        self._is_graded_here: Final = job["grader"] is None
        self._is_graded = False
        self._has_agent = False
        self._data: Final = data
        self._workdir: Final = data.workdir
        image = data.image or rollout.environment
        self.config = vf.DockerConfig(image=image)
        self.info = DockerRuntimeInfo(image=image, id=rollout.rollout_id)

    async def start(self) -> None:
        """Returns with a sandbox at hand: its place in line must not count as the agent's time, which ends in a score."""
        with self.told():
            await self.rollout.exec(["true"], setup=True)

    async def prepare_execution(self, routes: list[str] | None) -> None:
        """What verifiers calls right before the agent starts."""
        self._has_agent = True

    @property
    def _mark(self) -> bool:
        """Whether what is done now prepares the sandbox: the fleet may run it again in another one."""
        return not self._has_agent and self.rollout.takes_setup

    async def teardown(self) -> None:
        await self.rollout.finish()

    async def run(self, argv: list[str], env: dict[str, str]) -> vf.ProgramResult:
        with self.told():
            try:
                result = await self.rollout.exec(
                    argv,
                    env=self.process_env(env),
                    cwd=self._workdir,
                    timeout_s=LONGEST_COMMAND_S,
                    setup=self._mark,
                )
            except Refused as refused:
                return vf.ProgramResult(126, "", str(refused))
        return vf.ProgramResult(result.return_code, result.stdout, result.stderr)

    async def _read(self, path: str, max_bytes: int | None = None) -> bytes:
        with self.told():
            most = LONGEST_FILE_BYTES if max_bytes is None else max_bytes
            return await self.rollout.read(self._placed(path), most_bytes=most)

    async def write(self, path: str, data: bytes) -> None:
        placed = self._placed(path)
        with self.told():
            # Set-up with an upload that was refused is not replayed.
            if self._mark:
                await self._make_folder_of(placed)
            try:
                await self.rollout.write(placed, data, setup=self._mark)
            except Refused as refused:
                if refused.evidence.get("errno") != "ENOENT":
                    raise
                await self._make_folder_of(placed)
                await self.rollout.write(placed, data, setup=self._mark)

    async def _make_folder_of(self, path: str) -> None:
        await self.rollout.exec(["mkdir", "-p", "--", str(PurePosixPath(path).parent)], setup=self._mark)

    def _placed(self, path: str) -> str:
        return path if self._workdir is None else str(PurePosixPath(self._workdir) / path)

    async def grade(self, sample: Mapping[str, Any] | None = None) -> float:
        """The environment's own grader, for a `@vf.reward`."""
        with self.told():
            graded = await self.rollout.grade(sample)
        self._is_graded = True
        return graded.score

    def told(self) -> AbstractContextManager[None]:
        return _told(self._data)

    async def account(self, reward: float | None) -> None:
        """Brings the reward where the fleet leaves grading to the task; else asks whether there may be one. None: the task has
        no reward functions."""
        if self._is_graded:
            return
        with self.told():
            if (lost := self.rollout.discarded) is not None:
                raise lost.once_more()
            if self._is_graded_here and reward is not None:
                await self.rollout.score(reward)
                return
            verdict = await self.rollout.verdict()
            # A call that was given up bars the score, too, if it never began.
            if (lost := self.rollout.discarded) is not None:
                raise lost.once_more()
            if not verdict.scorable:
                what = f"{verdict.code}: {verdict.what} [rollout {self.rollout.rollout_id}]"
                raise vf.SandboxError(what)


async def grade(trace: vf.Trace, runtime: vf.Runtime) -> float:
    """The environment's own grader as a plugged reward: `--env.taskset.task.rewards.corral.fn corral.verifiers:grade`."""
    return await _ours(runtime).grade({"output_text": trace.last_reply})


def _ours(runtime: vf.Runtime) -> CorralRuntime:
    if not isinstance(runtime, CorralRuntime):
        raise TypeError(
            f"{type(runtime).__name__} is no sandbox of Corral: run with --env.id corral_verifiers"
        )
    return runtime


class CorralHarness(vf.Harness[vf.HarnessConfig]):
    """The model's loop with the environment's tools, until it answers without calling one."""

    APPENDS_SYSTEM_PROMPT = True
    SUPPORTS_RESUME = True

    async def launch(
        self,
        ctx: ModelContext,
        trace: vf.Trace,
        runtime: vf.Runtime,
        endpoint: str,
        secret: str,
        mcp_urls: dict[str, str],
        data: vf.TaskData,
        tool_interception_url: str | None = None,
    ) -> vf.ProgramResult:
        box = _ours(runtime)
        messages = _opening(*self.resolve_prompt(data))
        tools = box.functions or omit
        # How long a model may take is the agent's own limit, not the connection's.
        async with AsyncOpenAI(base_url=endpoint, api_key=secret, timeout=None) as model:
            while True:
                try:
                    answer = await model.chat.completions.create(
                        model=ctx.model, messages=messages, tools=tools
                    )
                except APIStatusError as error:
                    # A policy that fills its context has had its chance: no way out of a score.
                    if is_context_overflow(error):
                        return vf.ProgramResult(0, "", "")
                    raise
                message = answer.choices[0].message
                messages.append(message.model_dump(exclude_none=True))
                if not message.tool_calls:
                    return vf.ProgramResult(0, message.content or "", "")
                messages += [await _called(box, call) for call in message.tool_calls]


def _opening(system: str | None, prompt: str | vf.Messages | None) -> list[Any]:
    said = (
        [{"role": "user", "content": prompt}]
        if isinstance(prompt, str)
        else map(message_to_wire, prompt or [])
    )
    return [*([] if system is None else [{"role": "system", "content": system}]), *said]


async def _called(box: CorralRuntime, call: Any) -> dict[str, Any]:
    with box.told():
        try:
            text = (await box.rollout.call(call.function.name, call.function.arguments)).output
        except Refused as refused:
            text = f"Error: {refused.message}"
    return {"role": "tool", "tool_call_id": call.id, "content": text}


class Row(vf.TaskData):
    """A row as `corral rows --for verifiers` writes it. The model is told the prompt; `item` goes to the fleet, whole."""

    item: dict[str, Any]


class GradedRow(vf.Task[Row, vf.State]):
    @vf.reward
    async def graded(self, trace: vf.Trace, runtime: vf.Runtime) -> float:
        return await grade(trace, runtime)


class RowsConfig(vf.TasksetConfig):
    file: str = ""


class Rows(vf.Taskset[GradedRow, RowsConfig]):
    def load(self) -> Iterable[GradedRow]:
        if self.config.file == "":
            raise ValueError("say which rows: --env.taskset.file rows.jsonl, written by corral rows")
        with Path(self.config.file).open(encoding="utf-8") as lines:
            for line in lines:
                yield GradedRow(Row.model_validate_json(line), self.config.task)
