"""Refused tasks: the exception that names the unmet requirement, and a summary at the end of the process.

A refusal concerns one task, so the job goes on without it. The summary keeps an operator from overlooking that.
"""

from __future__ import annotations

import atexit
import os
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from .errors import RequirementsUnmet
from .exchange import own_failure

# Task names that a line of the summary lists.
LONGEST_LIST: Final = 50


def unmet(requirement: str, *, wanted: str, given: str, fix: str) -> RequirementsUnmet:
    """A refusal by this client, in the words of the fleet's own."""
    failure = own_failure("requirements_unmet", f"{wanted}, but {given}; {fix}", "caller")
    evidence = {"requirement": requirement, "wanted": wanted, "given": given, "fix": fix}
    return RequirementsUnmet(replace(failure, evidence=evidence))


_refused: defaultdict[str, Counter[str]] = defaultdict(Counter)


def note_refusal(task: str, refusal: RequirementsUnmet) -> None:
    """Counts a refused rollout; the end of the process prints the counts."""
    if not _refused:
        atexit.register(_print_summary)
    _refused[refusal.requirement][task] += 1


def format_summary(refused: Mapping[str, Counter[str]]) -> str:
    """How many rollouts were refused, and of which tasks, by requirement."""
    total = sum(counts.total() for counts in refused.values())
    lines = [
        f"  {name}: {counts.total()} ({_list_tasks(counts)})" for name, counts in sorted(refused.items())
    ]
    head = f"corral: {total} rollouts were refused, neither scored nor retried; by requirement:"
    return "\n".join([head, *lines])


def _list_tasks(counts: Counter[str]) -> str:
    tasks = sorted(counts)
    more = len(tasks) - LONGEST_LIST
    return ", ".join(tasks[:LONGEST_LIST]) + (f" and {more} more" if more > 0 else "")


def _print_summary() -> None:
    if _refused:
        print(format_summary(_refused), file=sys.stderr)


# A forked child prints its own refusals only.
os.register_at_fork(after_in_child=_refused.clear)
