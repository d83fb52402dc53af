"""Harbor's trials over E2B's wire have the agent of those over our adapter."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "with_harbor")]
