"""Whatever the policy does to itself is a result, and its rollout is scored: a discard would be a way out of a low score."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import pytest
from fleet import Fleet

import corral

FORK_BOMB = "bomb() { bomb | bomb & }; bomb; sleep 3"


async def test_its_own_exit_code_and_signal_are_results_and_it_is_scored(fleet: Fleet, run: str):
    async with corral.Rollout("counting", client=fleet.client(run)) as rollout:
        failed = await rollout.call("shell", {"command": "echo x >> calls; exit 1"})
        assert (failed.outcome, failed.exit_code, failed.return_code) == ("completed", 1, 1)
        killed = await rollout.exec("kill -9 $$")
        assert (killed.outcome, killed.signal, killed.exit_code) == (
            "completed",
            "SIGKILL",
            128 + signal.SIGKILL,
        )
        assert (await rollout.grade()).score == 1


async def test_its_own_time_out_is_a_result_with_what_it_wrote_and_it_is_scored(fleet: Fleet, run: str):
    async with corral.Rollout("counting", client=fleet.client(run)) as rollout:
        slow = await rollout.exec("echo x | tee calls; sleep 60", timeout_s=1)
        assert (slow.outcome, slow.timed_out, slow.exit_code, slow.return_code) == (
            "timed_out",
            True,
            None,
            124,
        )
        assert slow.stdout == "x\n"
        assert (await rollout.grade()).score == 1


async def test_its_fork_bomb_is_its_own_and_it_is_scored(fleet: Fleet, run: str):
    async with corral.Rollout("counting", client=fleet.client(run)) as rollout:
        await rollout.call("shell", {"command": f"echo x >> calls; {FORK_BOMB}"})
        assert (await rollout.grade()).score in (0, 1)
        assert (await rollout.verdict()).scorable


async def test_it_cannot_kill_the_daemon_and_it_is_scored(fleet: Fleet, run: str):
    async with corral.Rollout("counting", client=fleet.client(run)) as rollout:
        assert (await rollout.exec("echo x >> calls; kill -9 1")).exit_code == 1
        assert (await rollout.grade()).score == 1


async def test_where_it_is_root_it_kills_the_daemon_and_that_is_its_own_doing_and_it_is_scored(
    fleet: Fleet, run: str
):
    async with corral.Rollout("rooted", item={"answer": "42"}, client=fleet.client(run)) as rollout:
        broke = await rollout.exec("kill -9 1; kill -9 -1")
        assert (broke.code, broke.exit_code, broke.return_code) == ("sandbox_broken", None, 137)
        assert (await rollout.grade({"output_text": "41"})).score == 0
        assert (await rollout.verdict()).scorable


async def test_arguments_that_are_no_json_are_told_to_the_model(fleet: Fleet, run: str):
    deep: list[object] = []
    for _ in range(20_000):
        deep = [deep]
    async with corral.Rollout("counting", client=fleet.client(run)) as rollout:
        for written in (
            '{"command": ',
            {"command": float("nan")},
            {"command": deep},
            {"command": 7},
            "x" * 2_000_000,
        ):
            told = await rollout.call("shell", written)
            assert (told.outcome, told.code, told.return_code) == ("refused", "bad_arguments", 126)
        half = await rollout.call("shell", {"command": "echo '\ud800'"})
        assert (half.outcome, half.stdout) == ("completed", "\ufffd\n")
        assert (await rollout.call("no_such_tool", {})).code == "unknown_tool"
        assert rollout.discarded is None


@pytest.mark.parametrize("command", ["echo \0", "x" * 2_000_000, ["true", "y" * 2_000_000]])
async def test_a_command_that_no_machine_starts_is_refused_and_the_rollout_goes_on(
    fleet: Fleet, run: str, command: str | list[str]
):
    async with corral.Rollout("counting", client=fleet.client(run)) as rollout:
        with pytest.raises(corral.Refused):
            await rollout.exec(command)
        long = await rollout.exec(["true", "x" * 200_000])
        assert (long.outcome, long.code, long.return_code) == ("refused", "command_not_started", 126)
        assert (await rollout.exec("echo x > calls")).exit_code == 0
        assert (await rollout.grade()).score == 1


async def test_a_file_that_it_removed_or_made_a_folder_is_refused_and_it_is_scored(
    fleet: Fleet, run: str, tmp_path: Path
):
    async with corral.Rollout("counting", client=fleet.client(run)) as rollout:
        await rollout.write("calls", "x\n")
        assert await rollout.read("calls") == b"x\n"
        await rollout.exec(
            "rm calls; mkdir folder; yes | head -c 100000 > large; ln -s /dev/zero endless; mkfifo silent"
        )
        for path, errno in (("calls", "ENOENT"), ("folder", "EISDIR"), ("large/x", "ENOTDIR")):
            with pytest.raises(corral.Refused) as refused:
                await rollout.read(path)
            assert (refused.value.evidence["errno"], refused.value.rollout_id) == (errno, rollout.rollout_id)
        for path in ("large", "endless"):
            with pytest.raises(corral.Refused):
                await rollout.read(path, most_bytes=99_999)
        with pytest.raises(corral.Refused):
            await asyncio.wait_for(rollout.read("silent"), 20)
        for path in ("", "/", "a\0b", "x" * 5_000, "half\ud800"):
            for act in (
                rollout.write(path, "x"),
                rollout.read(path),
                rollout.upload_dir(tmp_path, path),
                rollout.download_dir(path, tmp_path),
            ):
                with pytest.raises(corral.Refused):
                    await act
        with pytest.raises(corral.Refused):
            await rollout.write("folder", "x")
        assert rollout.discarded is None
        assert (await rollout.grade()).score == 0


async def test_a_policy_that_kills_all_that_it_can_stops_uploads_alone_and_is_scored(fleet: Fleet, run: str):
    async with corral.Rollout("counting", client=fleet.client(run)) as rollout:
        killing = "setsid sh -c 'while :; do kill -9 -1; done' > /dev/null 2>&1"
        await rollout.exec(f"echo x > calls; ({killing} &)")
        for _ in range(5):
            assert await rollout.read("calls") == b"x\n"

        # It may lose the race for a while.
        async def fifty_uploads() -> None:
            for _ in range(50):
                await rollout.write("calls", "x")

        with pytest.raises(corral.Refused):
            await fifty_uploads()
        assert (await rollout.grade()).score == 1


async def test_paths_arrive_as_they_were_written(fleet: Fleet, run: str):
    async with corral.Rollout("counting", client=fleet.client(run)) as rollout:
        for path in ("a b/c%2Fd?e#f.txt", "/tmp/absolute", "ü/\u4e2d", "in/../out"):
            await rollout.exec(["mkdir", "-p", path.rpartition("/")[0] or ".", "in"])
            await rollout.write(path, path.encode())
            assert (await rollout.exec(["cat", path])).stdout == path


async def test_output_that_was_cut_says_so_in_the_stream_itself(fleet: Fleet, run: str):
    async with corral.Rollout("counting", client=fleet.client(run)) as rollout:
        long = await rollout.exec("seq 1 200000; echo short >&2")
        assert (long.truncated.stdout, long.truncated.stderr, bool(long.truncated)) == (True, False, True)
        assert long.stdout.endswith("\n[stdout was cut: only its head and tail are above]\n")
        assert long.stderr == "short\n"
        assert long.truncated.total_bytes > len(long.stdout)
