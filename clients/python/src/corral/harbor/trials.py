"""A trial's reward, for a mean over trials."""

from __future__ import annotations

from harbor.models.trial.error_policy import FailureCause
from harbor.models.trial.result import TrialResult

from ..errors import Discarded, Unavailable
from ..results import Verdict
from ..rollout import Rollout
from .failing import find_refusal_in

# A health check that failed once has the trial in a second sandbox, as a second attempt.
ATTEMPTS = (2, 1)


async def reward_of(trial: TrialResult, *, name: str = "reward") -> float | None:
    """A trial's reward; None for what was lost or refused, which belongs in no mean.

    A reward that was measured after the agent's own program failed is invalid to Harbor. The fleet is asked whether it counts.
    """
    measured = None if trial.verifier_result is None else (trial.verifier_result.rewards or {}).get(name)
    if measured is None or find_refusal_in(trial) is not None:
        return None
    if trial.reward_valid:
        return measured
    if trial.failure_cause != FailureCause.UNCLASSIFIED or not was_verified(trial):
        return None
    verdict = await _verdict_of(str(trial.id))
    return measured if verdict is not None and verdict.scorable else None


def was_verified(trial: TrialResult) -> bool:
    """Harbor has no name for most of what can go wrong. Before anything was verified it was the agent's own program here, or its
    way to the model, and no measure of the policy."""
    return any(each.verifier is not None for each in (trial, *(trial.step_results or [])))


async def _verdict_of(trial_id: str) -> Verdict | None:
    for attempt in ATTEMPTS:
        try:
            # Nothing is opened by asking.
            return await Rollout("", rollout_id=trial_id, attempt=attempt).verdict()
        except (Discarded, Unavailable):
            continue
    return None
