"""What a control's trial left on this machine: the ends of its outputs, and a reward that cannot be read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from .rewards import JSON_NAME, TEXT_NAME, RewardFile

# Of each output, in characters. The end of an output explains most.
LONGEST_SOLUTION_END: Final = 600
LONGEST_VERIFIER_END: Final = 900
# Of a reward that cannot be read, in characters.
LONGEST_REWARD: Final = 80


@dataclass(frozen=True, slots=True)
class ControlOutputs:
    """`solution`: None if no solution was played. `exit_code`: of a solution that failed. `unreadable`: the file's name and
    its first characters."""

    verifier: str = ""
    solution: str | None = None
    exit_code: str | None = None
    unreadable: str | None = None

    def describe(self) -> str:
        """Both ends, in the order in which they explain a failure: first that of a solution whose command failed."""
        verifier = f"The end of the verifier's output: {self.verifier or '(nothing)'}"
        if self.solution is None:
            return verifier
        if self.exit_code is None:
            return f"{verifier}\nThe end of the solution's output: {self.solution or '(nothing)'}"
        exited = f"The solution's command exited with {self.exit_code}, and its output ends with"
        return f"{exited}: {self.solution or '(nothing)'}\n{verifier}"


def read_outputs(trial_dir: Path) -> ControlOutputs:
    """The outputs of the last step that has any, and of the step whose solution failed."""
    exit_code = _newest(trial_dir, "agent/exit-code.txt")
    beside = trial_dir if exit_code is None else exit_code.parent.parent
    solution = _newest(beside, "agent/oracle.txt")
    return ControlOutputs(
        _end(_newest(trial_dir, "verifier/test-stdout.txt"), LONGEST_VERIFIER_END),
        None if solution is None and exit_code is None else _end(solution, LONGEST_SOLUTION_END),
        None if exit_code is None else exit_code.read_text().strip(),
        _unreadable(trial_dir),
    )


def _newest(folder: Path, name: str) -> Path | None:
    found = [path for path in folder.rglob(name) if path.is_file()]
    return max(found, key=lambda path: path.stat().st_mtime, default=None)


def _end(path: Path | None, longest: int) -> str:
    text = "" if path is None else path.read_text(errors="replace").strip()
    return text[-longest:]


def _unreadable(trial_dir: Path) -> str | None:
    for folder in sorted(trial_dir.rglob("verifier")):
        paths = [path for path in (folder / JSON_NAME, folder / TEXT_NAME) if path.is_file()]
        if paths and RewardFile(paths[0].name, paths[0].read_bytes()).rewards is None:
            begin = paths[0].read_text(errors="replace").strip()[:LONGEST_REWARD]
            return f"{paths[0].name} begins with {begin!r}" if begin else f"{paths[0].name} is empty"
    return None
