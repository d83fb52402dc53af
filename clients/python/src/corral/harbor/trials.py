"""A trial's reward, for a mean over trials. Harbor 0.25 and 0.26 name their failures differently, so this goes by the names of
exceptions, which are the same in both."""

from __future__ import annotations

from collections.abc import Sequence

from harbor.models.trial.error_policy import ERROR_POLICIES
from harbor.models.trial.result import ExceptionInfo, TimingInfo, TrialResult

from ..errors import Lost
from ..results import Verdict
from ..rollout import Rollout
from .failing import OWN_PROGRAM_FAILED, exceptions_of, find_refusal_in

# A health check that failed once has the trial in a second sandbox, as a second attempt.
ATTEMPTS = (2, 1)


async def reward_of(trial: TrialResult, *, name: str = "reward") -> float | None:
    """A trial's reward; None for what was lost or refused, which belongs in no mean.

    A reward that was measured after the agent's own program failed is invalid to Harbor 0.25. The fleet is asked whether it
    counts. One that was measured after an exception without a name is valid to Harbor 0.26, and None here: the model may have
    been out of reach.
    """
    measured = None if trial.verifier_result is None else (trial.verifier_result.rewards or {}).get(name)
    if measured is None or find_refusal_in(trial) is not None:
        return None
    errors = exceptions_of(trial)
    unknown = [each for each in errors if is_unknown(each)]
    if trial.reward_valid and not unknown:
        return measured
    is_own = not errors or errors[0].exception_type == OWN_PROGRAM_FAILED or is_unknown(errors[0])
    if not is_own or has_unknown_before_verification(trial):
        return None
    verdict = await _verdict_of(str(trial.id))
    return measured if verdict is not None and verdict.scorable else None


def is_unknown(error: ExceptionInfo) -> bool:
    """Whether neither Harbor nor the job says what this exception means for a reward."""
    # Harbor 0.26 keeps what the job's override_error_policy says of the name.
    has_override = getattr(error, "policy_override", None) is not None
    return not has_override and error.exception_type not in ERROR_POLICIES


def has_unknown_before_verification(trial: TrialResult) -> bool:
    """Whether an agent ended so, by its own program or by its way to the model: no measure of the policy."""
    steps = trial.step_results or []
    ends = [(step.exception_info, [step.verifier]) for step in steps]
    ends.append((trial.exception_info, [trial.verifier, *(step.verifier for step in steps)]))
    return any(
        _came_before(error, timings) for error, timings in ends if error is not None and is_unknown(error)
    )


def _came_before(error: ExceptionInfo, verifications: Sequence[TimingInfo | None]) -> bool:
    started = [each.started_at for each in verifications if each is not None and each.started_at is not None]
    return not started or error.occurred_at < min(started)


async def _verdict_of(trial_id: str) -> Verdict | None:
    for attempt in ATTEMPTS:
        try:
            # Nothing is opened by asking.
            return await Rollout("", rollout_id=trial_id, attempt=attempt).verdict()
        except Lost:
            continue
    return None
