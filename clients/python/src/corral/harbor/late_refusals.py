"""Refusals that only a trial's start shows, in words for the person who can change it."""

from __future__ import annotations

from typing import Final

from harbor.models.task.config import HealthcheckConfig

from ..errors import RequirementsUnmet
from ..refusals import unmet
from ..results import CallResult

# Of a failed health check's output, in characters.
LONGEST_END: Final = 1200


def another_grader(*, is_row: bool) -> RequirementsUnmet:
    """The tests of a row's task give no reward, and that would look like the policy's doing."""
    return unmet(
        "reward",
        wanted="the fleet grades the task" if is_row else "the task's own tests grade it",
        given="the job grades it otherwise",
        fix=f"run it {'with' if is_row else 'without'} --verifier-import-path corral.harbor:CorralVerifier",
    )


def unhealthy(check: HealthcheckConfig | None, last: CallResult | None) -> RequirementsUnmet:
    command = "" if check is None else check.command
    exited, said = ("", "") if last is None else (last.exit_code, (last.stderr or last.stdout).strip())
    return unmet(
        "health_check",
        wanted=f"the task's health check exits with 0: {command}",
        given=f"it exited with {exited} in two fresh sandboxes and wrote: {said[-LONGEST_END:] or '(nothing)'}",
        fix="correct command below [environment.healthcheck] in task.toml, or what the image lacks",
    )


def another_user(wanted: object) -> RequirementsUnmet:
    return unmet(
        "user",
        wanted=f"the agent runs a command as {wanted!r}",
        given="commands run as the sandbox's one user",
        fix="use an agent that names no user, or set user below [agent] in task.toml",
    )
