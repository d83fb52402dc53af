"""More output than fleet state keeps comes from the sandbox that has it, whole or honestly cut, and again to who repeats."""

from __future__ import annotations

from fleet import Fleet

import corral

MEBIBYTE = 1024 * 1024
MOST = 10 * MEBIBYTE
# Of whole lines too.
FEWER = 1_000_000


async def test_ten_mebibytes_come_whole_and_again_after_the_gateway_was_killed(fleet: Fleet, run: str):
    async with corral.Rollout("counting", client=fleet.client(run)) as rollout:
        flood = f"echo x >> calls; yes 'a\"b\\' | head -c {MOST}; yes üü | head -c {FEWER} >&2"
        told = await rollout.exec(flood, max_output_bytes=MOST, call_id="flood")
        assert not told.truncated
        assert told.truncated.total_bytes == MOST + FEWER
        # Not as they are: what differs would be told in ten million letters.
        assert (told.stdout == 'a"b\\\n' * (MOST // 5), told.stderr == "üü\n" * (FEWER // 5)) == (True, True)
        killed = fleet.kill_gateway()
        again = await rollout.exec(flood, max_output_bytes=MOST, call_id="flood")
        fleet.await_gateway_after(killed)
        assert (again.replayed, again.stdout == told.stdout, again.stderr == told.stderr) == (
            True,
            True,
            True,
        )
        assert (await rollout.grade()).score == 1


async def test_beyond_that_head_and_tail_stay_and_it_says_so(fleet: Fleet, run: str):
    async with corral.Rollout("counting", client=fleet.client(run)) as rollout:
        told = await rollout.exec(
            f"printf first; head -c {2 * MOST} /dev/zero | tr '\\0' x; printf last", max_output_bytes=MOST
        )
        assert told.truncated.stdout
        assert not told.truncated.stderr
        assert told.truncated.total_bytes == 2 * MOST + 9
        assert (told.stdout[:6], told.stdout[MOST - 5 : MOST + 16]) == ("firstx", "xlast\n[stdout was cut")
        usual = await rollout.exec("head -c 1000000 /dev/zero | tr '\\0' x")
        assert usual.truncated.stdout
        assert len(usual.stdout) < 300_000
        less = await rollout.exec("seq 1000", max_output_bytes=100)
        assert less.truncated.stdout
        assert len(less.stdout) < 300


EVERY_BYTE = bytes(range(256))


async def test_bytes_go_in_and_come_out_as_they_are(fleet: Fleet, run: str):
    async with corral.Rollout("counting", client=fleet.client(run)) as rollout:
        told = await rollout.exec("cat; printf '\\377' >&2", stdin=EVERY_BYTE, binary=True, call_id="bytes")
        assert (told.stdout_bytes, told.stderr_bytes) == (EVERY_BYTE, b"\xff")
        assert (told.stdout, told.stderr) == (EVERY_BYTE.decode(errors="replace"), "\ufffd")
        again = await rollout.exec("cat; printf '\\377' >&2", stdin=EVERY_BYTE, binary=True, call_id="bytes")
        assert (again.replayed, again.stdout_bytes) == (True, EVERY_BYTE)
        text = await rollout.exec("cat", stdin="text")
        assert (text.stdout, text.stdout_bytes) == ("text", None)


async def test_more_bytes_than_fleet_state_keeps_come_whole_and_beyond_that_cut_without_a_mark(
    fleet: Fleet, run: str
):
    async with corral.Rollout("counting", client=fleet.client(run)) as rollout:
        many = "head -c 3000000 /dev/zero | tr '\\0' '\\377'; printf '\\376'"
        whole = await rollout.exec(many, binary=True, max_output_bytes=MOST)
        assert not whole.truncated
        assert whole.stdout_bytes == b"\xff" * 3_000_000 + b"\xfe"
        cut = await rollout.exec(many, binary=True, max_output_bytes=100)
        assert (cut.truncated.stdout, cut.truncated.total_bytes) == (True, 3_000_001)
        assert cut.stdout_bytes == b"\xff" * 99 + b"\xfe"


async def test_where_nothing_ran_there_are_no_bytes_and_the_reason_is_text(fleet: Fleet, run: str):
    async with corral.Rollout("counting", client=fleet.client(run)) as rollout:
        nowhere = await rollout.exec("true", cwd="/nowhere", binary=True)
        assert (nowhere.outcome, nowhere.stdout_bytes, nowhere.stderr_bytes) == ("refused", b"", b"")
        assert "/nowhere" in nowhere.stderr
