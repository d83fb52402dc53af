import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Harbor and what it needs warn of themselves."""
    config.addinivalue_line("filterwarnings", "default")
