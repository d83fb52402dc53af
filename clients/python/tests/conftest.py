"""One fleet for the whole session; async tests run in a loop of their own; the counts are told to whoever adds them up."""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from fleet import Fleet, running_fleet


@pytest.fixture(scope="session")
def fleet() -> Iterator[Fleet]:
    with running_fleet() as started:
        yield started


@pytest.fixture
def run() -> str:
    """A run of the test's own: its report is of nobody else's rollouts."""
    return f"run-{uuid.uuid4().hex[:12]}"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Faults by chance take minutes for each framework: `npm run test:clients -- --all` plays them."""
    if "CORRAL_SEEDS" in os.environ:
        return
    left_out = [item for item in items if item.get_closest_marker("seeds") is not None]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    given = {name: pyfuncitem.funcargs[name] for name in inspect.signature(pyfuncitem.obj).parameters}
    asyncio.run(pyfuncitem.obj(**given))
    return True


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """A test that was skipped, or whose fleet did not start, has not passed."""
    file = os.environ.get("CORRAL_COUNTS")
    if file is None:
        return
    seen = {name: len(reports) for name, reports in terminalreporter.stats.items() if name}
    failed = sum(seen.get(name, 0) for name in ("failed", "error", "skipped", "xfailed", "xpassed"))
    files = {
        report.nodeid.partition("::")[0]
        for name in ("failed", "error")
        for report in terminalreporter.stats.get(name, [])
    }
    told = {"passed": seen.get("passed", 0), "failed": failed, "files": sorted(files)}
    Path(file).write_text(json.dumps(told))
