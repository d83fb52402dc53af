"""Folders in and out: what a trainer sends arrives as it was, and what the policy left there harms nobody."""

from __future__ import annotations

import io
import os
import subprocess
import tarfile
from pathlib import Path

import pytest
from fleet import Fleet

import corral
from corral.folders import END_MARK, pack, unpack


@pytest.fixture
def task(tmp_path: Path) -> Path:
    folder = tmp_path / "task"
    (folder / "deep/er").mkdir(parents=True)
    (folder / "deep/er/data").write_bytes(bytes(range(256)) * 400)
    (folder / "run.sh").write_text("#!/bin/sh\necho ran\n")
    (folder / "run.sh").chmod(0o755)
    (folder / "link").symlink_to("run.sh")
    os.mkfifo(folder / "pipe")
    return folder


async def test_a_folder_goes_in_and_out_with_its_modes(fleet: Fleet, run: str, task: Path, tmp_path: Path):
    async with corral.Rollout("counting", client=fleet.client(run)) as rollout:
        await rollout.upload_dir(task, "made/here")
        told = await rollout.exec("./made/here/link; ls made/here")
        assert told.stdout == "ran\ndeep\nlink\nrun.sh\n"
        left_out = await rollout.download_dir("made/here", tmp_path / "back")
    assert left_out == ["link"]
    assert (tmp_path / "back/deep/er/data").read_bytes() == (task / "deep/er/data").read_bytes()
    assert (tmp_path / "back/run.sh").stat().st_mode & 0o777 == 0o755
    assert not (tmp_path / "back/link").is_symlink()


async def test_what_cannot_be_read_is_left_out_and_the_rest_arrives(fleet: Fleet, run: str, tmp_path: Path):
    async with corral.Rollout("counting", client=fleet.client(run)) as rollout:
        await rollout.exec(
            "mkdir -p d/shut; echo x > d/a; echo x > d/closed; mkfifo d/pipe; chmod 0 d/closed d/shut"
        )
        left_out = await rollout.download_dir("d", tmp_path / "d")
        await rollout.exec("mkdir e; mkfifo e/pipe")
        assert await rollout.download_dir("e", tmp_path / "e") == ["pipe"]
    assert left_out == ["closed", "pipe", "shut"]
    assert sorted(path.name for path in (tmp_path / "d").iterdir()) == ["a", "shut"]


async def test_what_the_policy_made_of_it_is_refused_and_its_rollout_goes_on(
    fleet: Fleet, run: str, task: Path, tmp_path: Path
):
    async with corral.Rollout("counting", client=fleet.client(run)) as rollout:
        await rollout.exec("echo x >> calls; mkfifo pipe; mkdir big; truncate -s 200G big/hole; touch file")
        for source, code in [("missing", "ENOENT"), ("pipe", "EINVAL"), ("big", "EFBIG")]:
            with pytest.raises(corral.Refused) as refused:
                await rollout.download_dir(source, tmp_path / "none")
            assert refused.value.evidence["errno"] == code
        await rollout.exec("mkdir small; head -c 5000 /dev/zero > small/a")
        with pytest.raises(corral.Refused, match="more than 1000 bytes"):
            await rollout.download_dir("small", tmp_path / "none", most_bytes=1000)
        with pytest.raises(corral.Refused):
            await rollout.upload_dir(task, "file")
        assert (await rollout.grade()).score == 1


async def test_a_policy_that_kills_all_that_it_can_breaks_no_download_off(
    fleet: Fleet, run: str, tmp_path: Path
):
    async with corral.Rollout("counting", client=fleet.client(run)) as rollout:
        killing = "setsid sh -c 'while :; do kill -9 -1; done' > /dev/null 2>&1"
        await rollout.exec(f"echo x >> calls; mkdir d; head -c 6000000 /dev/zero > d/a; ({killing} &)")
        for turn in range(5):
            await rollout.download_dir("d", tmp_path / str(turn))
            assert (tmp_path / str(turn) / "a").stat().st_size == 6_000_000
        assert rollout.discarded is None
        assert (await rollout.grade()).score == 1


def test_a_folder_that_is_not_there_is_the_trainers_own_mistake(tmp_path: Path):
    with pytest.raises(corral.Misuse):
        pack(tmp_path / "missing")


def tar(*members: tuple[tarfile.TarInfo, bytes]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for member, content in members:
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return packed.getvalue()


def link(name: str, target: str, kind: bytes = tarfile.SYMTYPE) -> tuple[tarfile.TarInfo, bytes]:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, target
    return member, b""


def test_nothing_is_written_outside_whatever_the_archive_says(tmp_path: Path):
    secret = tmp_path / "secret"
    secret.write_text("kept")
    file = tarfile.TarInfo
    hostile = tar(
        link("out", str(tmp_path)),
        (file("out/secret"), b"through a link"),
        link("hard", "../secret", tarfile.LNKTYPE),
        (file("hard"), b"through a hard link"),
        (file("../secret"), b"climbing"),
        (file(str(secret)), b"absolute"),
        (file("good"), b"good"),
    )
    left_out = unpack(hostile, tmp_path / "into")
    assert secret.read_text() == "kept"
    assert left_out == ["out", "hard", "../secret", str(secret)]
    assert (tmp_path / "into/good").read_bytes() == b"good"
    assert not (tmp_path / "into/out").is_symlink()


def test_an_archive_that_is_none_or_lies_is_the_policys(tmp_path: Path):
    whole = tar((tarfile.TarInfo("a"), b"x" * 2000), (tarfile.TarInfo("b"), b"y"))
    for broken in (b"", b"text", whole[:512], whole[:3000], whole[:1024] + END_MARK, b"z" * 4096 + END_MARK):
        with pytest.raises(corral.Refused):
            unpack(broken, tmp_path / "into")
    longer = tarfile.TarInfo("longer")
    longer.type = tarfile.GNUTYPE_LONGNAME
    endless = longer.tobuf(tarfile.GNU_FORMAT) * 5_000 + END_MARK
    huge = tarfile.TarInfo("huge")
    huge.size = 2**80
    for lying in (endless, huge.tobuf(tarfile.GNU_FORMAT) + END_MARK):
        with pytest.raises(corral.Refused):
            unpack(lying, tmp_path / "into")
    both = tar((tarfile.TarInfo("a"), b"a file"), (tarfile.TarInfo("a/b"), b"and a folder"))
    with pytest.raises(corral.Refused):
        unpack(both, tmp_path / "other")


def test_a_disk_of_the_trainers_own_that_is_full_is_no_doing_of_the_policys(tmp_path: Path):
    full = tmp_path / "full"
    full.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", full], check=True)
    try:
        with pytest.raises(corral.Misuse, match="No space left"):
            unpack(tar((tarfile.TarInfo("a"), b"x" * 200_000)), full / "into")
    finally:
        subprocess.run(["umount", full], check=True)
    with pytest.raises(corral.Misuse):
        unpack(tar(), "/proc/nowhere")
