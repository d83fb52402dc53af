"""What the fleet records of a task: whether its reward can be trusted in an environment.

Two controls decide it, each in a fresh sandbox: one does nothing (nop), one plays the task's own solution. The fleet picks
one holder that plays them; everything else waits for the record.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

from .client import Client
from .errors import Unavailable
from .exchange import Asked, exchange, own_failure
from .pool import pool_of_loop
from .routes import ASK_STANDING, RECORD_STANDING, Route
from .writing import json_text

Outcome = Literal["proven", "unproven", "refused", "inconclusive"]
State = Literal["proven", "unproven", "refused", "play", "wait"]

# Of a recorded reason, in characters: a refusal repeats it in a sentence of 2,000. The ends of outputs explain most.
LONGEST_REASON: Final = 1900


@dataclass(frozen=True, slots=True)
class TaskKey:
    """A task in an environment. `digest`: the SHA-256 of everything that defines the task."""

    client: Client
    environment: str
    digest: str


@dataclass(frozen=True, slots=True)
class Standing:
    """`play`: the holder that asked is to play the controls. `wait`: another holder plays them."""

    state: State
    reason: str = ""
    solution_verifier_took_s: float | None = None


async def ask_standing(key: TaskKey, holder: str, *, again: bool = False) -> Standing:
    """The recorded standing, or who plays the controls. The same holder asks once more to renew its lease. `again`: forgets what
    is recorded."""
    return await _send(ASK_STANDING, key, {"holder": holder, **({"again": True} if again else {})})


async def record_outcome(
    key: TaskKey, holder: str, outcome: Outcome, reason: str, solution_verifier_took_s: float | None
) -> Standing:
    """Records what the controls showed. `inconclusive` records nothing and gives the lease back."""
    took = {} if solution_verifier_took_s is None else {"solution_verifier_took_s": solution_verifier_took_s}
    said = {} if reason == "" else {"reason": reason[-LONGEST_REASON:]}
    return await _send(RECORD_STANDING, key, {"holder": holder, "outcome": outcome, **said, **took})


async def _send(route: Route, key: TaskKey, fields: dict[str, Any]) -> Standing:
    gateway = key.client.gateway
    run = {} if gateway.run is None else {"run": gateway.run}
    body = {**run, "environment": key.environment, "task": key.digest, **fields}
    reply = await exchange(await pool_of_loop(), gateway, Asked(route, route.path, text=json_text(body)))
    return read_standing(reply.body)


def read_standing(body: dict[str, Any]) -> Standing:
    state: Any = body.get("standing")
    reason, took = body.get("reason"), body.get("solution_verifier_took_s")
    if state not in get_args(State):
        message = f"the gateway's answer cannot be read: {state!r} is not a standing"
        raise Unavailable(own_failure("not_corral", message, "infrastructure"))
    return Standing(state, str(reason or ""), float(took) if isinstance(took, int | float) else None)
