"""`--verifier-import-path corral.harbor:CorralVerifier`, for tasks of `corral rows --for harbor`."""

from __future__ import annotations

from harbor.models.verifier.result import VerifierResult
from harbor.verifier.base import BaseVerifier

from .environment import CorralEnvironment


class CorralVerifier(BaseVerifier):
    """The reward is the fleet's, whose grader the policy can neither read nor reach."""

    async def verify(self) -> VerifierResult:
        if not isinstance(self.environment, CorralEnvironment):
            raise SystemExit("corral: CorralVerifier grades what ran in corral.harbor:CorralEnvironment")
        return VerifierResult(rewards={"reward": await self.environment.grade()})
