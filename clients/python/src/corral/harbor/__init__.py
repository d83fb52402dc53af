"""Corral for Harbor: `--environment-import-path corral.harbor:CorralEnvironment --ek environment=harbor`.

What was lost is Harbor's `HealthcheckError`, in every later call too: nothing is graded, the trial has no reward, and
`TrialResult.reward_valid` is false. What the policy did is an exit code, 124 for a timeout. A task that the environment
cannot run is refused: its trial has no reward and is not retried, and the job goes on.
"""

from .environment import CorralEnvironment
from .trials import reward_of
from .verifier import CorralVerifier

__all__ = ["CorralEnvironment", "CorralVerifier", "reward_of"]
