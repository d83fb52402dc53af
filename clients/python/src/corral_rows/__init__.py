"""Rows of one of the fleet's environments as a taskset of verifiers: `--env.taskset.id corral_rows` with
`--env.taskset.file rows.jsonl`.

`corral rows NAME --for verifiers` writes the file.
"""

from corral.verifiers import Rows

__all__ = ["Rows"]
