"""An environment whose first sandbox lacks what the second one has."""

from __future__ import annotations

from corral.harbor import CorralEnvironment


class HealingEnvironment(CorralEnvironment):
    async def _open(self, attempt: int) -> None:
        await super()._open(attempt)
        if attempt == 2:
            await self.exec("touch healthy")
