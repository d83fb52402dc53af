import pytest
from fleet import Fleet
from rootfs import busybox_root


def pytest_configure(config: pytest.Config) -> None:
    """Harbor and what it needs warn of themselves."""
    config.addinivalue_line("filterwarnings", "default")


@pytest.fixture(scope="session")
def image(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folders that Harbor writes in are the environment's."""
    return busybox_root(tmp_path_factory.mktemp("root"))


@pytest.fixture
def address(fleet: Fleet, run: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"CORRAL_URL": fleet.url, "CORRAL_KEY": fleet.key, "CORRAL_RUN": run}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("HARBOR_TELEMETRY", "0")
