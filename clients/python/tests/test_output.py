"""More output than fleet state keeps comes from the sandbox that has it, whole or honestly cut, and again to who repeats."""

from __future__ import annotations

import pytest
from fleet import Fleet

import corral

MEBIBYTE = 1024 * 1024
MOST = 10 * MEBIBYTE


async def test_ten_mebibytes_of_each_stream_come_whole_and_again_after_the_gateway_was_killed(
    fleet: Fleet, run: str
):
    async with corral.Rollout("counting", client=fleet.client(run)) as rollout:
        flood = f"echo x >> calls; yes 'a\"b\\' | head -c {MOST}; yes ü | head -c {MOST} >&2"
        told = await rollout.exec(flood, max_output_bytes=MOST, call_id="flood")
        assert not told.truncated and told.truncated.total_bytes == 2 * MOST
        assert told.stdout == 'a"b\\\n' * (MOST // 5)
        assert len(told.stderr.encode()) == MOST
        killed = fleet.kill_gateway()
        again = await rollout.exec(flood, max_output_bytes=MOST, call_id="flood")
        fleet.await_gateway_after(killed)
        assert again.replayed and again.stdout == told.stdout and again.stderr == told.stderr
        assert (await rollout.grade()).score == 1


async def test_beyond_that_head_and_tail_stay_and_it_says_so(fleet: Fleet, run: str):
    async with corral.Rollout("counting", client=fleet.client(run)) as rollout:
        told = await rollout.exec(
            f"printf first; head -c {2 * MOST} /dev/zero | tr '\\0' x; printf last", max_output_bytes=MOST
        )
        assert told.truncated.stdout and not told.truncated.stderr
        assert told.truncated.total_bytes == 2 * MOST + 9
        assert told.stdout.startswith("first") and f"xlast\n[output was cut" in told.stdout.replace("xlast[", "xlast\n[")
        usual = await rollout.exec("head -c 1000000 /dev/zero | tr '\\0' x")
        assert usual.truncated.stdout and len(usual.stdout) < 300_000
        less = await rollout.exec("seq 1000", max_output_bytes=100)
        assert less.truncated.stdout and len(less.stdout) < 300


async def test_output_that_had_to_make_way_is_said_to_be_gone_and_never_told_as_cut(fleet: Fleet, run: str):
    async with corral.Rollout("counting", client=fleet.client(run)) as rollout:
        flood = f"head -c {MOST} /dev/zero; head -c {MOST} /dev/zero >&2"
        for call in ("first", "second", "third"):
            await rollout.exec(flood, max_output_bytes=MOST, call_id=call)
        with pytest.raises(corral.Discarded) as gone:
            await rollout.exec(flood, max_output_bytes=MOST, call_id="first")
        assert gone.value.code == "answer_expired"
