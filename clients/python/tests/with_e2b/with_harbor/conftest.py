"""Harbor's trials over E2B's wire have the agent of those over our adapter."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "with_harbor")]


def pytest_configure(config: pytest.Config) -> None:
    """What Harbor and LiteLLM leave open at their end is theirs."""
    config.addinivalue_line("filterwarnings", "default")


@pytest.fixture(autouse=True)
def telemetry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARBOR_TELEMETRY", "0")
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
