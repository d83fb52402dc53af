"""What a task's own file demands of the fleet, and what the adapter refuses by itself."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path
from typing import Any

import pytest
from fleet import REPOSITORY
from harbor.models.task.config import NetworkMode, NetworkPolicy
from harbor.models.trial.config import TaskConfig, TrialConfig

from corral.harbor.demands import AskedTask, Demands, find_demands
from corral.harbor.task_files import digest_task, has_solution, read_config, verifier_bounds_s

IMAGE = '[environment]\ndocker_image = "i"\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for each in ("environment", "solution", "tests"):
        (tmp_path / each).mkdir()
    (tmp_path / "tests/test.sh").write_text("echo 1 > /logs/verifier/reward.txt\n")
    (tmp_path / "task.toml").write_text(IMAGE)
    return tmp_path


def trial_of(folder: Path, **options: Any) -> TrialConfig:
    return TrialConfig.model_validate({"task": TaskConfig(path=folder), **options})


def demands(folder: Path, toml: str, policies: tuple[NetworkPolicy, ...] = (), **options: Any) -> Demands:
    (folder / "task.toml").write_text(toml)
    config = read_config(folder)
    return find_demands(AskedTask(config, config.environment, trial_of(folder, **options), folder, policies))


def test_a_task_that_says_nothing_demands_only_the_folders_that_harbor_writes(folder: Path):
    found = demands(folder, IMAGE)
    assert (found.requires, found.refusal) == ({"folders": ["/logs", "/tests", "/solution"]}, None)
    assert "network_mode" in found.differences[0]


def test_each_demand_of_the_file_is_told_to_the_fleet(folder: Path):
    toml = (
        IMAGE
        + 'workdir = "/app"\nmemory_mb = 65536\ncpus = 0.5\nstorage_mb = 2\nallow_internet = true\n'
        + '[agent]\ntimeout_sec = 7200\nuser = "dev"\n[verifier]\ntimeout_sec = 60\n'
    )
    assert demands(folder, toml).requires == {
        "workdir": "/app",
        "folders": ["/logs", "/tests", "/solution"],
        "user": "dev",
        "memory_bytes": 64 * 1024**3,
        "cpu_milli": 500,
        "disk_bytes": 2 * 1024**2,
        "network": "public",
        "command_timeout_s": 7200,
    }


@pytest.mark.parametrize(
    ("toml", "network"),
    [
        ("", None),
        ('network_mode = "public"\n', "public"),
        ("allow_internet = true\n", "public"),
        ("allow_internet = false\n", "none"),
        ('network_mode = "no-network"\n', "none"),
    ],
)
def test_only_a_network_that_the_file_names_is_a_demand(folder: Path, toml: str, network: str | None):
    assert demands(folder, IMAGE + toml).requires.get("network") == network


@pytest.mark.parametrize(
    ("options", "seconds"),
    [
        ({}, 7200),
        ({"agent": {"override_timeout_sec": 100}}, 300),
        ({"agent": {"max_timeout_sec": 1000}}, 1000),
        ({"timeout_multiplier": 0.5}, 3600),
        ({"agent_timeout_multiplier": 0.01, "verifier_timeout_multiplier": 3}, 900),
    ],
)
def test_the_longest_command_is_that_of_the_job_and_not_only_of_the_file(
    folder: Path, options: dict[str, Any], seconds: float
):
    toml = IMAGE + "[agent]\ntimeout_sec = 7200\n[verifier]\ntimeout_sec = 300\n"
    assert demands(folder, toml, **options).requires["command_timeout_s"] == seconds


def test_each_verification_has_its_own_bound(folder: Path):
    steps = '[[steps]]\nname = "a"\n[[steps]]\nname = "b"\n[steps.verifier]\ntimeout_sec = 7\n'
    (folder / "task.toml").write_text(IMAGE + steps)
    bounds = verifier_bounds_s(read_config(folder), trial_of(folder, verifier_timeout_multiplier=2))
    assert bounds == [1200, 14]


COMPOSE = "services:\n  main: {build: ., environment: {A: b}}\n  db: {image: postgres}\n"


@pytest.mark.parametrize(
    ("toml", "requirement"),
    [
        ("[environment]\n", "image"),
        (IMAGE + "gpus = 1\n", "gpu"),
        (IMAGE + 'os = "windows"\n', "platform"),
        (IMAGE + '[verifier]\nenvironment_mode = "separate"\n', "services"),
        (IMAGE + '[agent]\nuser = "dev"\n[verifier]\nuser = "judge"\n', "user"),
        (IMAGE + 'network_mode = "allowlist"\nallowed_hosts = ["example.com"]\n', "network"),
        (IMAGE + 'network_mode = "public"\n[agent]\nnetwork_mode = "no-network"\n', "network"),
    ],
)
def test_what_no_sandbox_has_is_refused_by_name(folder: Path, toml: str, requirement: str):
    refusal = demands(folder, toml).refusal
    assert refusal is not None
    assert (refusal.requirement, refusal.code, refusal.failure.blame) == (
        requirement,
        "requirements_unmet",
        "caller",
    )
    assert refusal.message == f"{refusal.wanted}, but {refusal.given}; {refusal.fix}"


def test_hosts_that_the_job_adds_are_a_demand_as_well(folder: Path):
    policy = NetworkPolicy(network_mode=NetworkMode.ALLOWLIST, allowed_hosts=["api.example.com"])
    refusal = demands(folder, IMAGE + "allow_internet = false\n", (policy,)).refusal
    assert refusal is not None
    assert "api.example.com" in refusal.wanted


def test_services_are_counted_in_the_compose_file_and_in_what_names_them(folder: Path):
    (folder / "environment/docker-compose.yaml").write_text(COMPOSE)
    hook = '[[verifier.collect]]\ncommand = "true"\nservice = "cache"\n'
    assert demands(folder, IMAGE).requires["services"] == 2
    assert not demands(folder, IMAGE).refusal
    assert demands(folder, IMAGE + hook).requires["services"] == 3
    (folder / "environment/docker-compose.yaml").write_text("services:\n  main: {build: .}\n")
    assert "services" not in demands(folder, IMAGE).requires


HARMLESS = """
services:
  main:
    build: {context: "${CONTEXT_DIR}"}
    image: ${MAIN_IMAGE_NAME}
    ports: ["3000:3000"]
    command: [sh, -c, sleep infinity]
    network_mode: ${NETWORK_MODE:-bridge}
    environment: ["TEST_DIR=${TEST_DIR}"]
    volumes: ["${HOST_VERIFIER_LOGS_PATH}:${ENV_VERIFIER_LOGS_PATH}"]
    deploy: {resources: {limits: {cpus: "${CPUS}", memory: "${MEMORY}"}}}
"""


def test_what_a_task_cannot_see_of_its_compose_file_is_no_demand(folder: Path):
    for text in [HARMLESS, "services: 3", ": ["]:
        (folder / "environment/docker-compose.yaml").write_text(text)
        assert demands(folder, IMAGE).refusal is None


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("environment", "environment: {MODE: strict}"),
        ("environment", 'environment: ["TOKEN=${TOKEN}", "TEST_DIR=${TEST_DIR}"]'),
        ("volumes", 'volumes: ["./data:/data"]'),
        ("command", 'command: [sh, -c, "service postgresql start && sleep infinity"]'),
        ("cap_add", "cap_add: [SYS_ADMIN]"),
        ("privileged", "privileged: true"),
        ("network_mode", "network_mode: host"),
        ("include", "image: a\ninclude: [more.yaml]"),
    ],
)
def test_a_setting_of_the_compose_file_that_a_task_can_see_is_refused_by_name(
    folder: Path, name: str, line: str
):
    (folder / "environment/docker-compose.yaml").write_text(f"services:\n  main:\n    {line}\n")
    refusal = demands(folder, IMAGE).refusal
    assert refusal is not None
    assert (refusal.requirement, refusal.wanted) == (
        "services",
        f"the task sets {name} of its container in docker-compose.yaml",
    )
    assert "[environment.env]" in refusal.fix


def test_the_digest_changes_with_everything_that_decides_a_reward_and_with_nothing_else(folder: Path):
    (folder / "solution/solve.sh").write_text("true\n")
    (folder / "instruction.md").write_text("Do it.\n")
    first = digest_task(folder, trial_of(folder))
    assert len(bytes.fromhex(first)) == hashlib.sha256().digest_size

    (folder / "instruction.md").write_text("Do it well.\n")
    (folder / "tests/__pycache__").mkdir()
    (folder / "tests/__pycache__/t.pyc").write_bytes(b"1")
    assert digest_task(folder, trial_of(folder, verifier={"override_timeout_sec": 5})) == first

    seen = {first, digest_task(folder, trial_of(folder, verifier={"env": {"STRICT": "1"}}))}
    (folder / "solution/solve.sh").chmod(0o755)
    seen.add(digest_task(folder, trial_of(folder)))
    (folder / "tests/test.sh").rename(folder / "tests/run.sh")
    seen.add(digest_task(folder, trial_of(folder)))
    (folder / "environment/data").write_text("x")
    seen.add(digest_task(folder, trial_of(folder)))
    assert len(seen) == 5


def test_preflight_computes_the_same_digest(folder: Path):
    """Names that sort by their parts, not as text; a link; a character beyond ASCII; a mode."""
    for name in ("tests/a.b", "tests/a/c", "solution/l\u00f6sung", "environment/\U0001f600"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(b"\xff\n")
    (folder / "tests/link").symlink_to("a.b")
    (folder / "tests/test.sh").chmod(0o755)
    script = f"import {{ digestTask }} from '{REPOSITORY}/cli/preflight/task/digest-task.ts';"
    show = "process.stdout.write(digestTask(process.argv[1]));"
    node = REPOSITORY / "node_modules/.bin/node"
    played = subprocess.run(
        [node, "--input-type=module", "-e", script + show, folder],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
    )
    assert played.stdout == digest_task(folder, trial_of(folder))


def test_a_solution_is_there_where_each_step_finds_one(folder: Path):
    assert not has_solution(read_config(folder), folder)
    (folder / "solution/solve.sh").write_text("true\n")
    assert has_solution(read_config(folder), folder)
    (folder / "task.toml").write_text(IMAGE + '[[steps]]\nname = "a"\n')
    (folder / "steps/a/solution").mkdir(parents=True)
    assert not has_solution(read_config(folder), folder)
