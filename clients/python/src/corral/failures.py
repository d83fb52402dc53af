"""Which exception a failure becomes, decided without touching anything.

The codes are the fleet's own (`/openapi.json`, `Error.code`; a test keeps this list equal to it). Whether the same request
may be sent again is never decided here: the fleet says so with every failure.
"""

from __future__ import annotations

from typing import Final, Literal

from .errors import CorralError, Discarded, Failure, Misuse, Refused, RequirementsUnmet, Unavailable

Meaning = Literal["wait", "lost", "misuse", "unmet"]

MEANINGS: Final[dict[str, Meaning]] = {
    # Trying again may help; when the patience is over, the rollout has no sandbox or no gateway.
    "capacity_timeout": "wait",
    "line_full": "wait",
    "image_unavailable": "wait",
    "unschedulable": "wait",
    "start_failed": "wait",
    "start_timeout": "wait",
    "setup_failed": "wait",
    "sandboxd_unreachable": "wait",
    "still_running": "wait",
    "grader_failed": "wait",
    "state_unavailable": "wait",
    "recovering": "wait",
    "provider_unavailable": "wait",
    "gateway_overloaded": "wait",
    "shutting_down": "wait",
    "rows_full": "wait",
    # Its state is gone or unsure, or it has ended: nothing about it can be learnt any more.
    "sandbox_lost": "lost",
    "outcome_unknown": "lost",
    "dependency_failed": "lost",
    "rollout_unknown": "lost",
    "rollout_expired": "lost",
    "rollout_closed": "lost",
    "run_closed": "lost",
    "voided": "lost",
    "answer_expired": "lost",
    "unclassified": "lost",
    # The next rollout would fail of the same.
    "invalid_request": "misuse",
    "unknown_environment": "misuse",
    "environment_mismatch": "misuse",
    "item_mismatch": "misuse",
    "item_missing": "misuse",
    "tool_not_configured": "misuse",
    "payload_too_large": "misuse",
    "unauthorized": "misuse",
    "call_conflict": "misuse",
    "score_conflict": "misuse",
    "unknown_call": "misuse",
    # Every attempt at this task fails of it, and no other task.
    "requirements_unmet": "unmet",
}

Of = Literal["open", "act", "file", "other"]
"""What was asked: to open a rollout, to act in its sandbox, to move a file, or something else."""


def error_of(failure: Failure, of: Of = "other") -> CorralError:
    """The exception for a failure that will not be tried again."""
    if failure.tainted:
        return Discarded(failure)
    if policy_may_have_caused(failure, of):
        return Refused(failure)
    meaning = meaning_of(failure, of)
    if meaning == "unmet":
        return RequirementsUnmet(failure)
    if meaning == "misuse":
        return Misuse(failure)
    return Unavailable(failure) if meaning == "wait" else Discarded(failure)


def meaning_of(failure: Failure, of: Of) -> Meaning:
    # A job that opens rollouts in a run that somebody stopped is to stop, and not to discard each of them.
    if failure.code == "run_closed" and of == "open":
        return "misuse"
    known = MEANINGS.get(failure.code)
    if known is not None:
        return known
    # A newer fleet's code. Who is blamed is told with it; a job that stops is seen, a silent discard is not.
    if failure.blame == "caller" and not failure.retryable:
        return "misuse"
    return "wait" if failure.retryable else "lost"


def policy_may_have_caused(failure: Failure, of: Of) -> bool:
    """A command that the model wrote too long, a file that it has removed or made a folder."""
    if failure.code == "payload_too_large":
        return of in ("act", "file")
    return of == "file" and failure.code == "invalid_request" and "errno" in failure.evidence
