"""The exceptions that a trial of Harbor gets from Corral, and what each of them means to Harbor.

Harbor goes by the name of an exception's class alone, and grades after a name that it does not know. After `HealthcheckError`
nothing is graded, and `--max-retries` plays the trial again. A refused task must not be played again, and the only names that
no retry covers are those of `RetryConfig.exclude_exceptions`. Of these, the name for a missing reward is the one that is true.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Final

from harbor.environments.base import HealthcheckError
from harbor.models.trial.result import ExceptionInfo, TrialResult

from ..errors import Misuse, RequirementsUnmet
from ..refusals import unmet
from ..telling import told_as

REFUSED: Final = "requirements_unmet: "

# Mistakes that a task's own row or files make; other tasks of the job do not make them.
CODES_OF_A_TASK: Final = frozenset({"invalid_request", "item_missing", "payload_too_large", "call_conflict"})


# Names that mean the same in Harbor 0.25 and 0.26, whose tables of policies have different fields.
OWN_PROGRAM_FAILED: Final = "NonZeroAgentExitCodeError"
SANDBOX_FAILED: Final = frozenset(
    {
        "EnvironmentStartTimeoutError",
        "SandboxBuildFailedError",
        "AgentSetupTimeoutError",
        "HealthcheckError",
        "SandboxLikelyOutOfMemoryError",
        "AddTestsDirError",
        "DownloadVerifierDirError",
    }
)
VERIFIER_FAILED: Final = frozenset(
    {
        "VerifierTimeoutError",
        "RewardFileNotFoundError",
        "RewardFileEmptyError",
        "VerifierOutputParseError",
    }
)
CANCELLED: Final = "CancelledError"


class RewardFileNotFoundError(Exception):
    """The task was refused, so there is no reward. Its message begins with `requirements_unmet`."""


def refusal_error(refusal: RequirementsUnmet) -> RewardFileNotFoundError:
    """The trial's error for a refusal, with the name of the requirement in front."""
    where = "" if refusal.rollout_id is None else f" [rollout {refusal.rollout_id}]"
    return RewardFileNotFoundError(f"{REFUSED}{refusal.requirement}: {refusal.message}{where}")


@contextmanager
def told_to_harbor(refuse: Callable[[RequirementsUnmet], Exception]) -> Generator[None]:
    """Translates the client's exceptions for a trial."""
    with told_as(HealthcheckError, refuse), _spare_other_tasks():
        yield


@contextmanager
def _spare_other_tasks() -> Generator[None]:
    try:
        yield
    except Misuse as misuse:
        # The fleet names the rollout; a failure of this machine, such as a full disk, has no name and ends the job.
        if misuse.code in CODES_OF_A_TASK and misuse.rollout_id is not None:
            raise _refusal_of(misuse) from misuse
        raise


def _refusal_of(misuse: Misuse) -> RequirementsUnmet:
    if "image" in misuse.evidence:
        return unmet(
            "image",
            wanted=f"the task names the image {misuse.evidence['image']} as docker_image",
            given=f"the fleet does not accept it: {misuse.message}",
            fix="correct docker_image below [environment] in task.toml, which is the row's image, or change the environment",
        )
    return unmet(
        "request",
        wanted="a request that this task needs",
        given=f"the fleet does not accept it: {misuse.message}",
        fix="change the task or the environment as the message says",
    )


def exceptions_of(trial: TrialResult) -> list[ExceptionInfo]:
    """Every exception of a trial, those of its steps too."""
    steps = [step.exception_info for step in trial.step_results or []]
    return [each for each in (trial.exception_info, *steps) if each is not None]


def find_refusal_in(trial: TrialResult) -> str | None:
    """Why the trial was refused; None for every other trial."""
    messages = [each.exception_message for each in exceptions_of(trial)]
    return next((each for each in messages if each.startswith(REFUSED)), None)
