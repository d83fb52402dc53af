"""Corral: one sandbox for each rollout, and a failure of the machinery is never a zero.

    async with corral.Rollout("shell", item=row) as rollout:
        result = await rollout.exec("make test")
        reward = (await rollout.grade({"output_text": answer})).score

`corral.sync` has the same without an event loop. An infrastructure failure is `Lost`: leave the rollout out of its group.
`RequirementsUnmet` concerns its whole task; `Misuse` is to stop the job. All are a `CorralError`.
"""

from . import sync
from .client import Client
from .errors import CorralError, Discarded, Failure, Lost, Misuse, Refused, RequirementsUnmet, Unavailable
from .events import Gap, Output
from .results import CallResult, Grade, Limits, Opened, Truncated, Verdict
from .rollout import Rollout
from .streaming import Running
from .version import __version__

__all__ = [
    "CallResult",
    "Client",
    "CorralError",
    "Discarded",
    "Failure",
    "Gap",
    "Grade",
    "Limits",
    "Lost",
    "Misuse",
    "Opened",
    "Output",
    "Refused",
    "RequirementsUnmet",
    "Rollout",
    "Running",
    "Truncated",
    "Unavailable",
    "Verdict",
    "__version__",
    "sync",
]
