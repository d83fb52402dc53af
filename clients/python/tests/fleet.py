"""A real fleet of one test session, and what a test does to it: kill a sandbox, kill a part, look who is left."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import httpx

import corral

REPOSITORY = Path(__file__).resolve().parents[3]
ENVIRONMENTS = Path(__file__).parent / "environments"
# Two cores that others use as well: a first start may have to build what is mounted into sandboxes.
START_S = 180.0
EVENTUALLY_S = 60.0

T = TypeVar("T")


def eventually(look: Callable[[], T | None], what: str, within_s: float = EVENTUALLY_S) -> T:
    """What `look` finds, as soon as it finds something that is true."""
    until = time.monotonic() + within_s
    while True:
        found = look()
        if found:
            return found
        if time.monotonic() > until:
            raise AssertionError(f"not within {within_s:.0f} s: {what}")
        time.sleep(0.05)


@dataclass(frozen=True)
class Fleet:
    url: str
    key: str
    state: Path

    def client(self, run: str, **options: Any) -> corral.Client:
        return corral.Client(self.url, self.key, run, **options)

    def get(self, path: str, run: str = "development") -> Any:
        """What the gateway answers, without the client that is under test."""
        headers = {"authorization": f"Bearer {self.key}", "x-corral-run": run}
        return httpx.get(f"{self.url}{path}", headers=headers, timeout=30).json()

    def rollout(self, rollout: str, run: str) -> Any:
        return self.get(f"/v1/rollouts/{rollout}", run)

    def end_run(self, run: str) -> None:
        """Lets go what its trainer has left behind."""
        headers = {"authorization": f"Bearer {self.key}"}
        httpx.delete(f"{self.url}/v1/runs/{run}", headers=headers, timeout=30).raise_for_status()

    def verdicts(self, run: str) -> str:
        """What the gateways logged of each of its scores and discards, and why; JSON lines."""
        headers = {"authorization": f"Bearer {self.key}"}
        address = f"{self.url}/v1/runs/{run}/events?only=verdicts"
        return httpx.get(address, headers=headers, timeout=30).text

    def report(self, run: str) -> Any:
        return self.get(f"/v1/runs/{run}")

    def holders(self) -> dict[str, int]:
        """Process 1 of each sandbox that is some rollout's, from node's own records."""
        records = [_record(path) for path in (self.state / "node/sandboxes").glob("*/record.json")]
        taken = (one for one in records if one and one["init"] and one["owner"])
        return {str(one["owner"]["rollout"]): int(one["init"]["pid"]) for one in taken}

    def kill_sandbox_of(self, rollout: str) -> None:
        """As a kernel or a clumsy operator would. A machine with much to do takes its time to carry that out, and until then what
        it answers is true."""
        pid = eventually(lambda: self.holders().get(rollout), f"{rollout} holds a sandbox")
        os.kill(pid, signal.SIGKILL)
        eventually(lambda: _is_over(pid), f"the sandbox of {rollout} is gone")

    def kill_gateway(self) -> int:
        """SIGKILL; the fleet starts another. Its process id."""
        pid = self._await_gateway()
        os.kill(pid, signal.SIGKILL)
        return pid

    @contextmanager
    def without_gateway(self) -> Generator[None]:
        """SIGKILL; the fleet starts another only afterwards."""
        killed = self._gateway()
        fields = Path(f"/proc/{killed}/stat").read_text().rpartition(")")[2].split()
        supervisor = int(fields[1])
        os.kill(supervisor, signal.SIGSTOP)
        try:
            os.kill(killed, signal.SIGKILL)
            yield
        finally:
            os.kill(supervisor, signal.SIGCONT)
        self.await_gateway_after(killed)

    @contextmanager
    def without_redis(self) -> Generator[None]:
        """It answers nothing meanwhile, and has forgotten nothing afterwards."""
        record = _record(self.state / "parts/redis.json")
        os.kill(int(record["pid"]), signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(int(record["pid"]), signal.SIGCONT)

    def await_gateway_after(self, killed: int) -> None:
        eventually(lambda: self._gateway() != killed and self.is_ready(), "there is another gateway")

    def stall_gateway(self, wait: Callable[[], object]) -> None:
        """It stands still while `wait` does."""
        pid = self._await_gateway()
        os.kill(pid, signal.SIGSTOP)
        try:
            wait()
        finally:
            os.kill(pid, signal.SIGCONT)

    def _await_gateway(self) -> int:
        """Waits while the fleet starts another one. A signal to process 0 would end this process and all of its group."""
        return eventually(self._gateway, "there is a gateway")

    def _gateway(self) -> int:
        """Its process id; 0 while it does not exist."""
        record = _record(self.state / "parts/gateway.json")
        return 0 if record is None else int(record["pid"])

    def is_ready(self) -> bool:
        try:
            return httpx.get(f"{self.url}/readyz", timeout=5).status_code == 200
        except httpx.HTTPError:
            return False


def _is_over(pid: int) -> bool:
    """Process 1 of a sandbox ends last."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def _record(path: Path) -> Any:
    """None while it is being written or has just gone."""
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError):
        return None


@contextmanager
def running_fleet() -> Generator[Fleet]:
    # A short path: unix sockets lie below it.
    state = Path(tempfile.mkdtemp(prefix="corral-py-"))
    node = REPOSITORY / "node_modules/.bin/node"
    told = (state / "told").open("w+")
    argv = [node, REPOSITORY / "cli/main.ts", "up", "--json", "--port", "0"]
    folders = ["--environments", ENVIRONMENTS, "--state", state / "s"]
    up = subprocess.Popen([*argv, *folders], stdout=subprocess.PIPE, stderr=told, text=True)
    try:
        yield _fleet_of(up, told)
    finally:
        up.terminate()
        up.wait(60)
        told.close()
        assert up.stdout is not None
        up.stdout.close()
        shutil.rmtree(state, ignore_errors=True)


def _fleet_of(up: subprocess.Popen[str], told: Any) -> Fleet:
    assert up.stdout is not None
    line = up.stdout.readline()
    if line == "":
        up.wait(START_S)
        told.seek(0)
        raise AssertionError(f"the fleet did not start:\n{told.read()[-2000:]}")
    summary = json.loads(line)
    return Fleet(summary["gatewayUrl"], summary["apiKey"], Path(summary["stateDir"]))


def write_rows(trainer: str, out: Path) -> Path:
    """The rows of the environment `asked`, as `corral rows` writes them for this trainer."""
    node = REPOSITORY / "node_modules/.bin/node"
    rows = [node, REPOSITORY / "cli/main.ts", "rows", "asked", "--for", trainer, "--out", out]
    subprocess.run([*rows, "--environments", ENVIRONMENTS], check=True, capture_output=True)
    return out
