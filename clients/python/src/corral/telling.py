"""How an adapter tells its framework what went wrong: in the framework's own words for a loss, or by ending its job."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager

from .errors import CorralError, Misuse, Refused, RequirementsUnmet


@contextmanager
def told_as(lost: type[Exception], refuse: Callable[[RequirementsUnmet], Exception]) -> Generator[None]:
    """What was lost leaves as `lost`, and a refused task as what `refuse` returns. `Refused` is the policy's and goes on as it
    is: whoever scores 0 for a missing file must not catch what was lost."""
    try:
        yield
    except Refused:
        raise
    except Misuse as misuse:
        # An error of one rollout would be one more discard; this one ends the job.
        raise SystemExit(f"corral: {misuse}") from misuse
    except RequirementsUnmet as unmet:
        raise refuse(unmet) from unmet
    except CorralError as error:
        raise lost(str(error)) from error
