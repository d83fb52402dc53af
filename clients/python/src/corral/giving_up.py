"""What a request means for the score whose caller gave it up: by a deadline of its own, or because its task was cancelled.

If the policy's command had begun, the time was the policy's, and the rollout goes on to its grade. If it had not, the rollout
waited for the infrastructure, and a framework that goes on and grades would make a low score of that. Only the fleet knows
which it was, so it is asked.
"""

from __future__ import annotations

from typing import Final

from .errors import CorralError, Lost, Unavailable
from .exchange import Asked, Gateway, exchange, own_failure
from .pool import Pool
from .results import Cancelled, read_cancelled, read_progress
from .routes import CANCEL

# A rollout that has its sandbox admits a call within milliseconds. A call that had not begun within this time was kept
# waiting. Without it, a policy that sends calls without a pause would find its way out of a low score between two of them.
ADMITTED_WITHIN_S: Final = 1.0


def never_began(waited_s: float) -> Unavailable:
    message = (
        f"the caller's own deadline ended after {waited_s:.1f} s, before the fleet had begun with the request"
    )
    return Unavailable(own_failure("never_began", message, "infrastructure"))


async def find_reason(
    pool: Pool, gateway: Gateway, asked: Asked, waited_s: float, patience_s: float
) -> CorralError | None:
    """Cancels the call, or looks at the rollout of a file. Why there may be no score; None: the time was the policy's."""
    read = read_cancelled if asked.route is CANCEL else read_progress
    try:
        found = read((await exchange(pool, gateway, asked, patience_s)).body)
    except CorralError as error:
        return _reason_of(error, waited_s)
    return never_began(waited_s) if is_kept_waiting(found, waited_s) else None


def is_kept_waiting(found: Cancelled, waited_s: float) -> bool:
    return not found.began and (found.waiting or waited_s >= ADMITTED_WITHIN_S)


def _reason_of(error: CorralError, waited_s: float) -> CorralError | None:
    # A gateway of the previous version knows no call that has not begun.
    if error.code == "unknown_call":
        return never_began(waited_s)
    # A sandbox that does not answer while it runs a command may have been starved by it.
    return error if isinstance(error, Lost) and error.admitted != "yes" else None
