import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))


def pytest_configure(config: pytest.Config) -> None:
    """torch and transformers warn of themselves."""
    config.addinivalue_line("filterwarnings", "default")
