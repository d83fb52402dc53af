"""The stock SDK of E2B on a real fleet: what a sandbox that is lost becomes, and what is the policy's own."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Sequence

import e2b
import pytest
from e2b import AsyncSandbox, AsyncTemplate, Sandbox, SandboxQuery, SandboxState, Template
from faults import FAULTY_TIMES, SEEDS, SLOW_APPEND, expect_truth, faults
from fleet import Fleet, eventually
from moments import MOMENTS, Losing, Moment, expect_two_or_healed, scripts

ENVIRONMENT = "own-score"


async def open_sandbox(**options: object) -> AsyncSandbox:
    return await AsyncSandbox.create(ENVIRONMENT, **options)  # pyright: ignore[reportArgumentType]


async def lines_of(sandbox: AsyncSandbox, *, slowly: bool = False) -> int:
    wait = "sleep 5; " if slowly else ""
    return int((await sandbox.commands.run(f"{wait}wc -l < calls")).stdout)


async def is_lost(fleet: Fleet, run: str, rollout: str) -> None:
    def look() -> bool:
        return fleet.rollout(rollout, run)["verdict"]["kind"] == "discard"

    await asyncio.to_thread(eventually, look, f"the fleet knows that {rollout} is lost")


@pytest.mark.parametrize("moment", MOMENTS)
async def test_of_four_sandboxes_the_one_that_is_killed_has_no_reward_or_is_healed(
    fleet: Fleet, run: str, moment: Moment
):
    losing = Losing(fleet, run, moment)

    async def play(script: Sequence[str], is_last: bool) -> float | None:
        sandbox = await open_sandbox(metadata={"group": "lines"})
        watching = (
            asyncio.create_task(asyncio.to_thread(losing.watch, sandbox.sandbox_id)) if is_last else None
        )
        try:
            for turn, command in enumerate(script):
                if is_last:
                    await asyncio.to_thread(losing.begins, sandbox.sandbox_id, turn)
                await sandbox.commands.run(command)
            return await lines_of(sandbox, slowly=moment == "while it is graded")
        except e2b.SandboxNotRunningException:
            return None
        finally:
            if watching is not None:
                await watching
            await sandbox.kill()

    each = scripts(moment)
    rewards = await asyncio.gather(*(play(script, script is each[-1]) for script in each))
    is_lost = expect_two_or_healed(moment, rewards)
    report = fleet.report(run)
    assert (report["rollouts"], report["discarded"]) == (4, int(is_lost))
    assert report["blame"] == ({"infrastructure": 1} if is_lost else {})


@pytest.mark.seeds
@pytest.mark.parametrize("seed", SEEDS)
async def test_faults_by_chance_make_no_false_zero_and_run_nothing_twice(fleet: Fleet, run: str, seed: int):
    async def play(times: int) -> float | None:
        # What is neither an answer nor a command's own exit code is no reward, whatever it is called.
        try:
            sandbox = await open_sandbox()
            for _ in range(times):
                await sandbox.commands.run(SLOW_APPEND)
            return await lines_of(sandbox)
        except e2b.CommandExitException:
            raise
        except Exception:
            return None

    with faults(fleet, run, seed):
        rewards = await asyncio.gather(*(play(times) for times in FAULTY_TIMES))
    expect_truth(fleet, run, rewards)


async def test_after_the_loss_every_request_says_that_the_sandbox_is_gone(fleet: Fleet, run: str):
    sandbox = await open_sandbox()
    await sandbox.files.write("notes", "here")
    fleet.kill_sandbox_of(sandbox.sandbox_id)
    await is_lost(fleet, run, sandbox.sandbox_id)
    for ask in (
        lambda: sandbox.commands.run("echo hi"),
        lambda: sandbox.files.read("notes"),
        lambda: sandbox.files.read("never-written"),
        lambda: sandbox.files.write("notes", "again"),
        lambda: sandbox.files.write_files([{"path": "a", "data": "1"}, {"path": "b", "data": "2"}]),
        lambda: sandbox.files.exists("never-written"),
        lambda: sandbox.files.list("."),
        lambda: sandbox.files.make_dir("."),
        lambda: sandbox.commands.list(),
    ):
        with pytest.raises(e2b.SandboxNotRunningException, match="was not found"):
            await ask()
    assert await sandbox.is_running() is False
    with pytest.raises(e2b.SandboxNotFoundException):
        await sandbox.get_info()


async def test_what_a_policy_does_is_a_result_with_an_exit_code(fleet: Fleet, run: str):
    sandbox = await open_sandbox()

    async def code_of(command: str, **options: float) -> int:
        with pytest.raises(e2b.CommandExitException) as ended:
            await sandbox.commands.run(command, **options)  # pyright: ignore[reportCallIssue, reportArgumentType]
        return ended.value.exit_code

    assert await code_of("exit 3") == 3
    assert await code_of("kill -9 $$") == 137
    began = time.monotonic()
    assert await code_of("trap '' TERM; sleep 60 & sleep 60", timeout=2) == 124
    assert time.monotonic() - began < 2
    assert fleet.rollout(sandbox.sandbox_id, run)["calls"][-1]["duration_ms"] >= 1500
    assert await code_of("yes | head -c 30000000; sleep 60", timeout=10) == 124
    assert await code_of("cd /; cd nowhere") != 0
    with pytest.raises(e2b.CommandExitException) as nowhere:
        await sandbox.commands.run("true", cwd="/nowhere")
    assert (nowhere.value.exit_code, "/nowhere" in nowhere.value.stderr) == (126, True)
    assert (await sandbox.commands.run("echo still here")).stdout == "still here\n"
    await sandbox.kill()
    assert fleet.report(run)["discarded"] == 0


async def test_output_without_end_is_cut_and_says_so_and_thousands_of_processes_are_the_policys_own(
    fleet: Fleet, run: str
):
    sandbox = await open_sandbox()
    endless = await sandbox.commands.run("head -c 50000000 /dev/zero | tr '\\0' x; echo e >&2")
    assert endless.stdout.endswith("\n[stdout was cut: only its head and tail are above]\n")
    assert len(endless.stdout) < 20_000_000
    assert "output was cut: 500000" in (endless.error or "")
    assert endless.stderr == "e\n"
    bomb = "f() { f | f & }; f; sleep 60"
    # On a busy machine its time is over before the bomb has used up the processes.
    with pytest.raises((e2b.CommandExitException, e2b.TimeoutException)):
        await sandbox.commands.run(bomb, timeout=10)
    assert await asyncio.to_thread(
        eventually,
        lambda: fleet.rollout(sandbox.sandbox_id, run)["verdict"]["kind"] == "scorable",
        "it is the policy's",
    )
    await sandbox.kill()
    assert fleet.report(run)["discarded"] == 0


async def test_a_gateway_that_dies_in_a_command_is_an_exception_and_its_sandbox_is_gone(
    fleet: Fleet, run: str
):
    sandbox = await open_sandbox()
    handle = await sandbox.commands.run("sleep 60", background=True, timeout=0)
    killed = fleet.kill_gateway()
    [broken] = await asyncio.gather(handle.wait(), return_exceptions=True)
    assert isinstance(broken, Exception)
    assert not isinstance(broken, e2b.CommandExitException | e2b.SandboxNotRunningException)
    await asyncio.to_thread(fleet.await_gateway_after, killed)
    for ask in (lambda: sandbox.commands.connect(handle.pid), lambda: sandbox.commands.run("echo hi")):
        with pytest.raises(e2b.SandboxNotRunningException, match="sandbox_lost"):
            await ask()
    assert fleet.report(run)["codes"] == {"sandbox_lost": 1}


async def test_a_kill_right_after_the_death_of_a_gateway_ends_a_sandbox_that_is_discarded(
    fleet: Fleet, run: str
):
    sandbox = await open_sandbox()
    running = await sandbox.commands.run("sleep 60", background=True, timeout=0)
    killed = fleet.kill_gateway()
    [broken] = await asyncio.gather(running.wait(), return_exceptions=True)
    assert isinstance(broken, Exception)
    await asyncio.to_thread(fleet.await_gateway_after, killed)
    assert await sandbox.kill() is True
    ended = fleet.rollout(sandbox.sandbox_id, run)
    assert (ended["state"], ended["verdict"]["cause"]) == ("closed", "request_lost")


async def test_the_only_gateway_is_away_between_two_commands_and_every_sandbox_of_before_is_gone(
    fleet: Fleet, run: str
):
    sandbox, quiet = await open_sandbox(), await open_sandbox()
    assert (await sandbox.commands.run("echo hi")).stdout == "hi\n"
    with fleet.without_gateway():
        for ask in (lambda: sandbox.commands.run("echo hi"), lambda: sandbox.files.read("a")):
            with pytest.raises(e2b.SandboxUnreachableException):
                await ask()
    for each in (sandbox, quiet):
        with pytest.raises(e2b.SandboxNotRunningException, match="sandbox_lost"):
            await each.commands.run("echo hi")
    assert (fleet.report(run)["discarded"], fleet.report(run)["codes"]) == (2, {"sandbox_lost": 2})
    after = await open_sandbox()
    assert (await after.commands.run("echo hi")).stdout == "hi\n"
    await after.kill()


async def test_files_and_folders_go_in_and_out(image: str):
    sandbox = await open_sandbox(metadata={"image": image})
    name = 'one "odd" näme\n.bin'
    data = bytes(range(256)) * 4096 + b"\r\n--boundary"
    await sandbox.files.write_files([{"path": f"a/{name}", "data": data}, {"path": "a/two", "data": "2"}])
    assert await sandbox.files.read(f"a/{name}", format="bytes") == data
    assert sorted(entry.name for entry in await sandbox.files.list("a")) == sorted([name, "two"])
    assert (await sandbox.files.get_info("a/two")).size == 1
    assert await sandbox.files.exists("a/three") is False
    assert [await sandbox.files.make_dir("b/c"), await sandbox.files.make_dir("b")] == [True, False]
    await sandbox.files.rename("a/two", "b/c/two")
    home = (await sandbox.commands.run("pwd")).stdout.strip()
    assert [each.path for each in await sandbox.files.list("b", depth=3)] == [
        f"{home}/b/c",
        f"{home}/b/c/two",
    ]
    assert [each.path for each in await sandbox.files.list(f"{home}/b/")] == [f"{home}/b/c"]
    assert (await sandbox.files.get_info("b/c")).path == f"{home}/b/c"
    await sandbox.files.remove("b")
    assert await sandbox.files.exists("b") is False
    for path in ("never-written", "a/two"):
        with pytest.raises(e2b.FileNotFoundException):
            await sandbox.files.read(path)
    with pytest.raises(e2b.SandboxException):
        await sandbox.files.write("/etc/passwd", "root")
    await sandbox.kill()


@pytest.mark.usefixtures("fleet")
async def test_a_command_is_listed_killed_and_attached_to():
    sandbox = await open_sandbox(envs={"GREETING": "hello"})
    handle = await sandbox.commands.run("echo $GREETING; sleep 60", background=True, timeout=0)
    assert [process.pid for process in await sandbox.commands.list()] == [handle.pid]
    other = await sandbox.commands.connect(handle.pid, timeout=0)
    assert await handle.kill() is True
    for each in (handle, other):
        with pytest.raises(e2b.CommandExitException) as ended:
            await each.wait()
        assert (ended.value.exit_code, ended.value.stdout) == (137, "hello\n")
    assert await sandbox.commands.kill(handle.pid) is False
    with pytest.raises(e2b.NotFoundException):
        await sandbox.commands.connect(handle.pid + 1)
    await sandbox.kill()


@pytest.mark.usefixtures("fleet", "run")
@pytest.mark.parametrize("of_the_sdk", [None, "base", "code-interpreter-v1"])
async def test_the_quick_start_runs_without_a_template(of_the_sdk: str | None):
    sandbox = await AsyncSandbox.create(of_the_sdk)
    assert (await sandbox.commands.run('echo "Hello from E2B!"')).stdout == "Hello from E2B!\n"
    assert all(each.path.startswith("/") for each in await sandbox.files.list("/"))
    await sandbox.kill()


async def test_metadata_is_returned_and_filters_lists(image: str):
    name = f"task-{uuid.uuid4().hex[:8]}"
    await AsyncTemplate.build(Template().from_image(image), name)
    metadata = {"user": "ünï code", "pair": "a=b&c"}
    opened = await AsyncSandbox.create(name, metadata=metadata)
    plain = await open_sandbox()
    assert (await opened.get_info()).metadata == metadata
    assert (await opened.get_info()).template_id == name
    assert (await plain.get_info()).metadata == {}

    async def ids(query: SandboxQuery) -> list[str]:
        return [each.sandbox_id for each in await AsyncSandbox.list(query).next_items()]

    assert await ids(SandboxQuery(metadata=metadata)) == [opened.sandbox_id]
    assert await ids(SandboxQuery(metadata={"user": "else"})) == []
    assert await ids(SandboxQuery(state=[SandboxState.PAUSED])) == []
    assert {each.sandbox_id: each.metadata for each in await AsyncSandbox.list().next_items()} == {
        opened.sandbox_id: metadata,
        plain.sandbox_id: {},
    }
    await asyncio.gather(opened.kill(), plain.kill())


async def test_a_create_with_its_key_again_opens_nothing_and_another_key_does(fleet: Fleet, run: str):
    key = uuid.uuid4().hex
    first, again = [await open_sandbox(idempotency_key=key) for _ in range(2)]
    other = await open_sandbox(idempotency_key=uuid.uuid4().hex)
    assert (first.sandbox_id == again.sandbox_id, first.sandbox_id == other.sandbox_id) == (True, False)
    assert fleet.report(run)["rollouts"] == 2
    assert [await first.kill(), await again.kill(), await other.kill()] == [True, False, True]


async def test_build_steps_run_when_a_sandbox_starts_and_the_first_that_fails_is_named(image: str):
    template = (
        Template()
        .from_image(image)
        .set_envs({"GREETING": "it's me"})
        .set_workdir("/app/part")
        .run_cmd('echo "$GREETING" > said')
    )
    name = f"task-{uuid.uuid4().hex[:8]}"
    built = await AsyncTemplate.build(template, f"{name}:one")
    assert [each.tag for each in await AsyncTemplate.get_tags(name)] == ["one"]
    for asked in (f"{name}:one", f"{name}:{built.build_id}"):
        sandbox = await AsyncSandbox.create(asked)
        assert (await sandbox.commands.run("pwd; cat said")).stdout == "/app/part\nit's me\n"
        again = await AsyncSandbox.connect(sandbox.sandbox_id)
        assert (await again.commands.run("pwd")).stdout == "/app/part\n"
        await sandbox.kill()
    with pytest.raises(e2b.SandboxException, match="no template"):
        await AsyncSandbox.create(name)
    await AsyncTemplate.build(Template().from_image(image).run_cmd("echo no room >&2; exit 7"), name)
    with pytest.raises(e2b.SandboxException, match=r"no room\s+build step 1 \(RUN .*exit code 7"):
        await AsyncSandbox.create(name)
    for_root = Template().from_image(image).run_cmd("chmod 700 /etc && id -u > /etc/who", user="root")
    await AsyncTemplate.build(for_root, name)
    sandbox = await AsyncSandbox.create(name)
    assert (await sandbox.commands.run("cat /etc/who")).stdout == "0\n"
    await sandbox.kill()


async def test_a_template_is_an_image_by_a_name_and_other_steps_are_refused(image: str):
    name = f"task-{uuid.uuid4().hex[:8]}"
    assert await AsyncTemplate.exists(name) is False
    await AsyncTemplate.build(Template().from_image(image), name, cpu_count=2, memory_mb=512)
    assert [await AsyncTemplate.exists(name), await AsyncTemplate.exists(f"{name}:default")] == [True, True]
    sandbox = await AsyncSandbox.create(name)
    assert (await sandbox.commands.run("cat /proc/1/comm; ls /app")).exit_code == 0
    await sandbox.kill()
    with pytest.raises(e2b.BuildException, match=r"build step 1 \(USER agent\)"):
        await AsyncTemplate.build(Template().from_image(image).set_user("agent"), "for-another")
    with pytest.raises(e2b.BuildException, match="allows"):
        await AsyncTemplate.build(Template().from_image("registry.example.com/else:1"), "elsewhere")
    with pytest.raises(e2b.SandboxException, match="no template"):
        await AsyncSandbox.create("nobody-named-it")


def test_a_wrong_key_is_told_as_such_before_anything(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("E2B_API_KEY", "corral_trainer_wrong")
    with pytest.raises(e2b.AuthenticationException):
        Sandbox.create(ENVIRONMENT)


def test_a_sandbox_of_the_synchronous_sdk_is_the_same(fleet: Fleet, run: str):
    with Sandbox.create(ENVIRONMENT) as sandbox:
        sandbox.files.write("notes", "here")
        assert sandbox.commands.run("cat notes").stdout == "here"
        assert [each.sandbox_id for each in Sandbox.list().next_items()] == [sandbox.sandbox_id]
        fleet.kill_sandbox_of(sandbox.sandbox_id)
        asyncio.run(is_lost(fleet, run, sandbox.sandbox_id))
        with pytest.raises(e2b.SandboxNotRunningException):
            sandbox.commands.run("cat notes")
