"""Harbor's trials over E2B's wire have the agent of those over our adapter."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from rootfs import busybox_root

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "with_harbor")]


def pytest_configure(config: pytest.Config) -> None:
    """What Harbor and LiteLLM leave open at their end is theirs."""
    config.addinivalue_line("filterwarnings", "default")


@pytest.fixture(autouse=True)
def telemetry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARBOR_TELEMETRY", "0")
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")


@pytest.fixture(scope="session")
def image(tmp_path_factory: pytest.TempPathFactory) -> str:
    """With what the build steps of Harbor's templates call, and Debian's busybox lacks."""
    root = tmp_path_factory.mktemp("root")
    name = busybox_root(root)
    (root / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/sh\n")
    (root / "etc/group").write_text("root:x:0:\n")
    install = root / "bin/install"
    install.write_text('#!/bin/sh\n# install -d -m MODE FOLDER\nmkdir -p "$4" && chmod "$3" "$4"\n')
    install.chmod(0o755)
    return name
