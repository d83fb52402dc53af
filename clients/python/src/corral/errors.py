"""Every way in which a rollout can fail that is not the policy's own, as a few exceptions.

What the policy did is never an exception: exit codes, time-outs, bad arguments and broken sandboxes are results
(`corral.CallResult`). So whoever catches nothing at all already tells the truth, and whoever catches `CorralError` leaves
the rollout out of its group.

None of them derives from `OSError`, `TimeoutError` or `RuntimeError`: frameworks tell those to the model as its own
mistake, or take them for the policy's timeout, and a failure of the machinery would be a zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, Self

Blame = Literal["model", "caller", "infrastructure"]
Admitted = Literal["yes", "no", "unknown"]
Evidence = Mapping[str, str | int | float | bool | None]


@dataclass(frozen=True, slots=True)
class Failure:
    """What the fleet, or the way to it, reported. `admitted`: whether the command may have run."""

    code: str
    message: str
    blame: Blame
    admitted: Admitted
    retryable: bool
    tainted: bool
    evidence: Evidence = field(default_factory=dict[str, str | int | float | bool | None])
    rollout_id: str | None = None
    call_id: str | None = None


class CorralError(Exception):
    """The rollout has no score, and that is not the policy's doing. Catch this one to leave it out of its group."""

    def __init__(self, failure: Failure) -> None:
        # The failure is the only argument, so that the exception survives pickling between processes.
        super().__init__(failure)
        self.failure = failure

    def __str__(self) -> str:
        of = self.failure
        where = "" if of.rollout_id is None else f" [rollout {of.rollout_id}]"
        return f"{of.code}: {of.message}{where}"

    @property
    def code(self) -> str:
        return self.failure.code

    @property
    def message(self) -> str:
        return self.failure.message

    @property
    def admitted(self) -> Admitted:
        return self.failure.admitted

    @property
    def retryable(self) -> bool:
        return self.failure.retryable

    @property
    def tainted(self) -> bool:
        return self.failure.tainted

    @property
    def evidence(self) -> Evidence:
        return self.failure.evidence

    @property
    def rollout_id(self) -> str | None:
        return self.failure.rollout_id

    def once_more(self) -> Self:
        """The same for another call of the rollout, with a traceback of its own."""
        return type(self)(self.failure)

    def named(self, rollout_id: str) -> Self:
        """The same, naming its rollout where the fleet could not."""
        if self.failure.rollout_id is not None:
            return self
        return type(self)(replace(self.failure, rollout_id=rollout_id))


class Lost(CorralError):
    """An infrastructure failure has left this rollout without a score. Leave it out of its group's mean."""


class Discarded(Lost):
    """The rollout can never be scored: its sandbox was lost, or it has ended. Leave it out of its group's mean."""


class Unavailable(Lost):
    """No sandbox or no gateway within the patience of the client, or three starts that failed for the
    same reason, which `message` has. For a trainer the same as `Discarded`."""


class Misuse(CorralError):
    """The job's configuration is wrong: a key, an environment, a request. Stop the job: no rollout can do better."""


class Refused(CorralError):
    """What was sent or asked for is impossible, and the policy may be the cause: a missing file, a command of 2 MB.

    Neither a discard nor a reason to stop the job, because what the policy can cause must not be a way out of a low
    score. Show it to the model, or score without the file. `evidence["errno"]` has the file system's error.
    """


class RequirementsUnmet(CorralError):
    """The task demands what its environment does not give, so it was refused before it could be scored.

    Leave the rollout out, and the task too: no other attempt at it can do better. Other tasks of the job go on.
    """

    @property
    def requirement(self) -> str:
        """Which kind of demand: `workdir`, `memory`, `network`, `reward`, …"""
        return self._text("requirement")

    @property
    def wanted(self) -> str:
        return self._text("wanted")

    @property
    def given(self) -> str:
        return self._text("given")

    @property
    def fix(self) -> str:
        """Which line to change."""
        return self._text("fix")

    def _text(self, name: str) -> str:
        return str(self.evidence.get(name) or "")
