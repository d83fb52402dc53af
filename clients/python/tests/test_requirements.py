"""What a task demands of its sandbox, on a real fleet: it is refused by name, and never scored."""

from __future__ import annotations

import pickle
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest
from fleet import Fleet
from rootfs import busybox_root

import corral
import corral.trl
from corral.refusals import format_summary, unmet

# More than any machine has.
TOO_MUCH = {"memory_bytes": 32 * 1024**4}


async def test_a_demand_that_is_not_met_names_what_was_wanted_and_which_line_to_change(
    fleet: Fleet, run: str
):
    async with corral.Rollout("own-score", requires=TOO_MUCH, client=fleet.client(run)) as rollout:
        with pytest.raises(corral.RequirementsUnmet) as caught:
            await rollout.open()
        refusal = caught.value
        assert (refusal.requirement, refusal.code) == ("memory", "requirements_unmet")
        assert (refusal.failure.blame, refusal.retryable) == ("caller", False)
        assert "33554432 MiB" in refusal.wanted
        assert "one machine has" in refusal.given
        assert "larger machine" in refusal.fix
        # Code that swallows the first one gets no score either.
        with pytest.raises(corral.RequirementsUnmet):
            await rollout.score(1.0)
    assert fleet.report(run)["scored"] == 0


async def test_a_demand_above_the_environment_is_given(fleet: Fleet, run: str):
    requires = {"memory_bytes": 512 * 1024**2}
    async with corral.Rollout("own-score", requires=requires, client=fleet.client(run)) as rollout:
        held = await rollout.exec("head -c 419430400 /dev/zero | tail | wc -c")
        assert held.stdout == "419430400\n"
        await rollout.score(1.0)


async def test_a_demand_that_is_met_changes_nothing(fleet: Fleet, run: str):
    requires = {"memory_bytes": 1024**2, "workdir": "/workspace", "network": "none", "command_timeout_s": 60}
    async with corral.Rollout("own-score", requires=requires, client=fleet.client(run)) as rollout:
        assert (await rollout.exec("echo fine")).stdout == "fine\n"
        await rollout.score(1.0)
    assert fleet.report(run)["scored"] == 1


async def test_what_only_the_sandbox_shows_is_refused_at_the_first_call(fleet: Fleet, run: str):
    requires = {"workdir": "/no-such-folder"}
    async with corral.Rollout("own-score", requires=requires, client=fleet.client(run)) as rollout:
        await rollout.open()
        with pytest.raises(corral.RequirementsUnmet, match="/no-such-folder"):
            await rollout.exec("true")
    assert fleet.report(run)["blame"] == {"caller": 1}


async def test_a_trainer_may_refuse_a_rollout_that_has_no_score(fleet: Fleet, run: str):
    async with corral.Rollout("own-score", client=fleet.client(run)) as rollout:
        await rollout.exec("true")
        texts = {"wanted": "a reward", "given": "x" * 3000, "fix": "correct the task"}
        await rollout.refuse("reward", **texts)
        with pytest.raises(corral.RequirementsUnmet, match="a reward"):
            await rollout.exec("true")
        verdict = await rollout.verdict()
    assert (verdict.scorable, verdict.code, verdict.blame) == (False, "requirements_unmet", "caller")
    assert (fleet.report(run)["scored"], fleet.report(run)["blame"]) == (0, {"caller": 1})


def test_the_synchronous_face_refuses_as_well(fleet: Fleet, run: str):
    client = corral.sync.Client(fleet.url, fleet.key, run)
    with corral.sync.Rollout("own-score", requires=TOO_MUCH, client=client) as rollout:
        with pytest.raises(corral.RequirementsUnmet, match="larger machine"):
            rollout.open()


def test_a_trainer_with_trl_has_no_reward_for_a_refused_row_and_goes_on(
    fleet: Fleet, run: str, tmp_path: Path
):
    """Its module needs no TRL. The root's own WORKDIR cannot be written, and no other row is refused."""
    roots = [tmp_path / "fine", tmp_path / "closed"]
    for root in roots:
        root.mkdir()
    images = [busybox_root(root) for root in roots]
    (tmp_path / "closed.config.json").write_text('{"WorkingDir": "/etc"}')
    one = corral.trl.environment("sandbox", client=corral.sync.Client(fleet.url, fleet.key, run))
    rollouts = [one() for _ in images]
    for rollout, image in zip(rollouts, images, strict=True):
        rollout.reset(image=image)
        with suppress(corral.RequirementsUnmet):
            rollout._rollout.exec("true")

    def both(**_: object) -> list[float | None]:
        return [1.0, 1.0]

    score = corral.trl.unless_lost(both)
    assert score(completions=["", ""], environments=rollouts) == [1.0, None]
    assert (fleet.report(run)["scored"], fleet.report(run)["blame"]) == (1, {"caller": 1})


def test_a_refusal_is_neither_a_loss_nor_the_policys_nor_the_jobs():
    refusal = unmet("cpu", wanted="32 CPUs", given="1 CPU", fix="ask for less")
    assert str(refusal) == "requirements_unmet: 32 CPUs, but 1 CPU; ask for less"
    assert not isinstance(refusal, corral.Discarded | corral.Refused | corral.Misuse | corral.Unavailable)
    back = pickle.loads(pickle.dumps(refusal))
    assert (type(back), back.requirement, back.fix) == (corral.RequirementsUnmet, "cpu", "ask for less")


def test_the_summary_counts_by_requirement_and_cuts_long_lists():
    many = Counter({f"task-{number:02}": 1 for number in range(52)})
    lines = format_summary({"network": many, "memory": Counter({"big": 3})}).splitlines()
    assert lines[0].startswith("corral: 55 rollouts were refused")
    assert lines[1] == "  memory: 3 (big)"
    assert lines[2].endswith("task-49 and 2 more)")
