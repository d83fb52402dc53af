"""Corral for TRL's `GRPOTrainer`: the model's tools are those of one of the fleet's environments, and its grader rewards.

    GRPOTrainer(..., environment_factory=corral.trl.environment("shell"), reward_funcs=corral.trl.reward)

A rollout whose sandbox was lost, or whose task was refused, has the reward `None`: TRL leaves it out of its group's mean and
gives it no advantage. TRL tells every exception of a tool to the model as text, and dies of one in `reset`; so neither raises
here, and what was lost is remembered until the reward is asked for.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from functools import cache, partial, wraps
from typing import Any, ClassVar

from . import sync
from .errors import CorralError, Lost, Refused, RequirementsUnmet
from .refusals import note_refusal
from .rollout import Rollout

__all__ = ["environment", "reward", "unless_lost"]

# What the model reads of a lost sandbox. Its rollout has no reward, so nothing is learnt from this.
LOST = "Error: the sandbox is gone. Nothing more can run. Give your answer now."

RewardFunction = Callable[..., Sequence[float | None]]


def environment(name: str, *, client: sync.Client | None = None) -> Callable[[], Any]:
    """For `environment_factory`: makes rollouts in the fleet's environment of this name. A wrong key or name raises
    `Misuse` here, before the first step."""
    _class_of(name, client)
    # No closure: a trainer may pickle it.
    return partial(_made, name, client)


def reward(completions: Sequence[Any], environments: Sequence[Any], **_: Any) -> list[float | None]:
    """For `reward_funcs`: the environment's own grader, for all rollouts of the batch at once."""
    if any(isinstance(one, _Environment) and one._is_graded_here for one in environments):
        raise ValueError(
            "this environment has no grader: give a reward function of your own, that is unless_lost"
        )
    return _all_of([_settling(*each, None) for each in zip(environments, completions, strict=True)])


def unless_lost(own: RewardFunction) -> RewardFunction:
    """Of a reward function of your own: `None` for what was lost. TRL adds up whatever is a number, so a reward for the
    form of an answer would put a lost rollout back into the mean. Where the environment leaves grading to the trainer, the
    first such function's rewards are brought to the fleet as the scores."""
    if inspect.iscoroutinefunction(own):
        raise TypeError("only reward functions that are not async can be told what was lost")

    @wraps(own)
    def told(completions: Sequence[Any], environments: Sequence[Any], **rest: Any) -> list[float | None]:
        values = list(own(completions=completions, environments=environments, **rest))
        settling = [_settling(*each) for each in zip(environments, completions, values, strict=True)]
        known = _all_of(settling)
        return [
            value if work is None or score is not None else None
            for value, work, score in zip(values, settling, known, strict=True)
        ]

    return told


def _settling(one: Any, completion: Any, own: float | None) -> Future[float] | None:
    """None for an environment of somebody else's, and where there is nothing to bring."""
    return one._settle(completion, own) if isinstance(one, _Environment) else None


def _all_of(settling: Sequence[Future[float] | None]) -> list[float | None]:
    return [None if work is None else _known(work) for work in settling]


def _known(work: Future[float]) -> float | None:
    """What is neither a score nor a discard is the job's mistake, and ends it."""
    try:
        return work.result()
    except (Lost, RequirementsUnmet):
        return None


class _Environment:
    """One of TRL's reusable instances: a rollout from each `reset` to the next. Every public method of it is a tool."""

    _name: ClassVar[str]
    _client: ClassVar[sync.Client]
    _is_graded_here: ClassVar[bool]

    def __init__(self) -> None:
        self._rollout: sync.Rollout | None = None
        self._settled: Future[float] | None = None

    def reset(self, **row: Any) -> None:
        if self._rollout is not None:
            sync.begin(self._rollout.asynchronous.finish())
        item = {name: value for name, value in row.items() if name != "prompt"}
        self._rollout = sync.Rollout(self._name, item=item, client=self._client)
        self._settled = None
        # Its place in line, while the model writes. What goes wrong is said again by the first use.
        sync.begin(self._rollout.asynchronous.open())

    def _call(self, tool: str, arguments: Mapping[str, Any]) -> str:
        rollout = self._rollout
        if rollout is None:
            raise LookupError("an environment is reset before it is used")
        try:
            return rollout.call(tool, arguments).output
        except Refused as refused:
            return f"Error: {refused.message}"
        except CorralError:
            return LOST

    def _settle(self, completion: Any, own: float | None) -> Future[float] | None:
        """The grade, or the trainer's own score brought; once, and then its sandbox is let go."""
        if self._settled is not None or self._rollout is None:
            return self._settled
        rollout = self._rollout.asynchronous
        if not self._is_graded_here:
            self._settled = sync.begin(_graded(rollout, _answer_of(completion)))
        elif own is not None and math.isfinite(own):
            self._settled = sync.begin(_brought(rollout, float(own)))
        return self._settled


async def _graded(rollout: Rollout, answer: str) -> float:
    try:
        return (await rollout.grade({"output_text": answer})).score
    except RequirementsUnmet as refusal:
        note_refusal(rollout.environment, refusal)
        raise
    finally:
        await rollout.finish()


async def _brought(rollout: Rollout, score: float) -> float:
    try:
        await rollout.score(score)
        return score
    except RequirementsUnmet as refusal:
        note_refusal(rollout.environment, refusal)
        raise
    finally:
        await rollout.finish()


def _answer_of(completion: Any) -> str:
    """The last thing that the model said."""
    if isinstance(completion, str):
        return completion
    said = [message.get("content") for message in completion if message.get("role") == "assistant"]
    return said[-1] if said and isinstance(said[-1], str) else ""


def _made(name: str, client: sync.Client | None) -> _Environment:
    return _class_of(name, client)()


@cache
def _class_of(name: str, client: sync.Client | None) -> type[_Environment]:
    asked = client or sync.Client()
    job = asked.tools(name)
    methods = {each["function"]["name"]: _method(**each["function"]) for each in job["functions"]}
    return type(
        "Corral",
        (_Environment,),
        {**methods, "_name": name, "_client": asked, "_is_graded_here": job["grader"] is None},
    )


def _method(name: str, description: str, parameters: Mapping[str, Any]) -> Callable[..., str]:
    """A tool as TRL wants it: a method whose signature and docstring say what the model may write. Whatever it does write
    is taken: what is wrong in it the fleet tells the model."""

    def tool(self: _Environment, /, **arguments: Any) -> str:
        return self._call(name, arguments)

    fields: Mapping[str, Any] = parameters.get("properties", {})
    required = parameters.get("required", [])
    ordered = sorted(fields, key=lambda field: field not in required)
    types = {field: _type_of(fields[field], field in required) for field in ordered}
    lines = [f"    {field}: {_line(fields[field].get('description') or field)}" for field in ordered]
    tool.__name__ = tool.__qualname__ = name
    tool.__doc__ = "\n".join([_line(description), "", "Args:", *lines])
    tool.__annotations__ = {**types, "return": str}
    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    signature = [own, *(_parameter(*each, each[0] in required) for each in types.items())]
    setattr(tool, "__signature__", inspect.Signature(signature, return_annotation=str))  # noqa: B010
    return tool


def _parameter(name: str, kind: Any, is_required: bool) -> inspect.Parameter:
    default = inspect.Parameter.empty if is_required else None
    return inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=kind)


_TYPES: dict[str, Any] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    "array": list,
    "object": dict,
}


def _type_of(schema: Mapping[str, Any], is_required: bool) -> Any:
    kind = _TYPES.get(str(schema.get("type")), Any)
    if kind is list and "type" in schema.get("items", {}):
        kind = list[_type_of(schema["items"], True)]
    return kind if is_required or kind is Any else kind | None


def _line(text: str) -> str:
    return " ".join(text.split())
