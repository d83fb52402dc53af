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
    "judge_suspect": "lost",
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

Of = Literal["open", "act", "attach", "file", "grade", "other"]
"""What was asked: to open a rollout, to act in its sandbox, to attach to a call, to move a file, to grade, or something else."""

# The codes that a call's text, id, path or arguments can cause, and of which requests. They are `Refused`. No other code
# is in the policy's hands, so every other one may keep its rollout from a score. What else of `invalid_request` words
# could cause, `writing` refuses before anything is sent.
BY_WORDS: Final[dict[str, frozenset[Of]]] = {
    "payload_too_large": frozenset({"act", "file", "grade"}),
    # Trainers may take a call's id from the model, whose template may let it write one twice.
    "call_conflict": frozenset({"act"}),
    "answer_expired": frozenset({"act"}),
}


USED_IDS: Final = frozenset({"call_conflict", "answer_expired"})
"""What a call gets whose id another one had before it."""


def error_of(
    failure: Failure, of: Of = "other", *, was_sent_before: bool = False, is_new_id: bool = False
) -> CorralError:
    """The exception for a failure that will not be tried again. `was_sent_before`: an earlier try had no answer.
    `is_new_id`: no other call has the id of this one, because the client made it or the fleet has accepted it."""
    if failure.tainted:
        return Discarded(failure)
    if policy_may_have_caused(failure, of, was_sent_before=was_sent_before, is_new_id=is_new_id):
        return Refused(failure)
    meaning = meaning_of(failure, of)
    if meaning == "unmet":
        return RequirementsUnmet(failure)
    if meaning == "misuse":
        return Misuse(failure)
    return Unavailable(failure) if meaning == "wait" else Discarded(failure)


def meaning_of(failure: Failure, of: Of) -> Meaning:
    # A job that opens rollouts in a run that was stopped must stop, and not discard each of them.
    if failure.code == "run_closed" and of == "open":
        return "misuse"
    known = MEANINGS.get(failure.code)
    if known is not None:
        return known
    # A newer fleet's code. Its blame comes with it. A job that stops is noticed; a silent discard is not.
    if failure.blame == "caller" and not failure.retryable:
        return "misuse"
    return "wait" if failure.retryable else "lost"


def policy_may_have_caused(
    failure: Failure, of: Of, *, was_sent_before: bool = False, is_new_id: bool = False
) -> bool:
    """A command that the model wrote too long, a file that it has removed, a call id that it has used, a user that it may not
    be, stdin that its command does not take."""
    if failure.code == "invalid_request":
        told = failure.evidence
        return (of == "file" and "errno" in told) or (of == "act" and ("user" in told or "stdin" in told))
    # The answer to an earlier try of the same call was lost on the way, and no doing of the policy.
    if failure.code == "answer_expired" and was_sent_before:
        return False
    if failure.code in USED_IDS and is_new_id:
        return False
    return of in BY_WORDS.get(failure.code, ())
