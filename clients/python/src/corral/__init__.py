"""Corral: one sandbox for each rollout, and a failure of the machinery is never a zero.

    async with corral.Rollout("shell", item=row) as rollout:
        result = await rollout.exec("make test")
        reward = (await rollout.grade({"output_text": answer})).score

`corral.sync` has the same without an event loop. What went wrong of the machinery is a `CorralError`: leave the rollout out
of its group. `RequirementsUnmet` concerns its whole task; `Misuse` is to stop the job.
"""

from . import sync
from .client import Client
from .errors import CorralError, Discarded, Failure, Misuse, Refused, RequirementsUnmet, Unavailable
from .results import CallResult, Grade, Opened, Truncated, Verdict
from .rollout import Rollout

__all__ = [
    "CallResult",
    "Client",
    "CorralError",
    "Discarded",
    "Failure",
    "Grade",
    "Misuse",
    "Opened",
    "Refused",
    "RequirementsUnmet",
    "Rollout",
    "Truncated",
    "Unavailable",
    "Verdict",
    "sync",
]
