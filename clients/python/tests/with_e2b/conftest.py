"""Where E2B's clients find the fleet: the run is in the address, because they have no other way to name one."""

from __future__ import annotations

import pytest
from fleet import Fleet
from rootfs import busybox_root


@pytest.fixture(autouse=True)
def address(fleet: Fleet, run: str, monkeypatch: pytest.MonkeyPatch) -> str:
    url = f"{fleet.url}/e2b/runs/{run}"
    for name, value in {"E2B_API_URL": url, "E2B_SANDBOX_URL": url, "E2B_API_KEY": fleet.key}.items():
        monkeypatch.setenv(name, value)
    return url


@pytest.fixture(scope="session")
def image(tmp_path_factory: pytest.TempPathFactory) -> str:
    return busybox_root(tmp_path_factory.mktemp("root"))
