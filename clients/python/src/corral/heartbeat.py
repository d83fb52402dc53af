"""Keeps a rollout's lease while the trainer thinks: a model's turn may be longer than the time that a rollout may be idle.

A heartbeat that fails is nobody's failure: if the rollout is gone, its next call says so.
"""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import TYPE_CHECKING, Final
from weakref import ReferenceType

from .errors import CorralError, Discarded, Unavailable
from .exchange import Asked, exchange
from .leaving import Held, let_go
from .pool import Pool
from .results import NotCorral, read_opened
from .routes import DELETE, HEARTBEAT
from .transport import Answer

if TYPE_CHECKING:
    from .session import Session

# The lease of a run is five minutes, and any heartbeat of its rollouts renews it; two in a row may be lost.
LONGEST_PERIOD_S: Final = 90.0
SHORTEST_PERIOD_S: Final = 0.5


def lease_s_of(lease_until: str, answer: Answer) -> float:
    """How long the lease still lasts. Both times are the gateway's, so our clock may be wrong by any amount."""
    try:
        return (datetime.fromisoformat(lease_until) - answer.said_at).total_seconds()
    except (ValueError, TypeError):
        return LONGEST_PERIOD_S


def period_s(lease_s: float) -> float:
    return min(LONGEST_PERIOD_S, max(SHORTEST_PERIOD_S, lease_s / 3))


async def keep_alive(rollout: ReferenceType[Session], held: Held, pool: Pool, lease_s: float) -> None:
    """Until the rollout is over, or nobody has it any more: then it is let go."""
    while True:
        await asyncio.sleep(period_s(lease_s))
        is_over = _is_over(rollout)
        if is_over is None:
            return await _let_go(held, pool)
        if is_over:
            return None
        try:
            lease_s = await _beat(held, pool, period_s(lease_s))
        except Unavailable:
            lease_s = 0.0
        except Discarded:
            return None
        except CorralError:
            # A mistake of the job, such as a key that is being rotated, may be over by the next one.
            lease_s = LONGEST_PERIOD_S


def _is_over(rollout: ReferenceType[Session]) -> bool | None:
    """None where it was collected. The reference must not live on in the loop above."""
    found = rollout()
    return None if found is None else found.is_over


async def _beat(held: Held, pool: Pool, patience_s: float) -> float:
    asked = Asked(HEARTBEAT, held.path(HEARTBEAT), query=held.query)
    async with pool.beats:
        reply = await exchange(pool, held.gateway, asked, patience_s)
    try:
        return lease_s_of(read_opened(reply.body).lease_until, reply.answer)
    except NotCorral:
        return LONGEST_PERIOD_S


async def _let_go(held: Held, pool: Pool) -> None:
    try:
        await exchange(pool, held.gateway, Asked(DELETE, held.path(DELETE), query=held.query))
    except Unavailable:
        return
    except CorralError:
        pass
    let_go(held)
