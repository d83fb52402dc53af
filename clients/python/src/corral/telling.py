"""How an adapter tells its framework what went wrong: in the framework's own words for a loss, or by ending its job."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from .errors import CorralError, Misuse, Refused

# The longest that the fleet lets a command run, for frameworks whose commands know no time-out.
LONGEST_COMMAND_S: Final = 3600.0


@contextmanager
def told_as(lost: type[Exception]) -> Generator[None]:
    """What was lost leaves as `lost`. `Refused` is the policy's and goes on as it is: whoever scores 0 for a missing file
    must not catch what was lost."""
    try:
        yield
    except Refused:
        raise
    except Misuse as misuse:
        # An error of one rollout would be one more discard; this one ends the job.
        raise SystemExit(f"corral: {misuse}") from misuse
    except CorralError as error:
        raise lost(str(error)) from error
