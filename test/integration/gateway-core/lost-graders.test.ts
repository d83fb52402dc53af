import { expect, test } from 'vitest';
import { aroundGraderMs } from '#src/model/grader.ts';
import { rolloutId, templateDigest } from '#src/model/ids.ts';
import { fakeEnvironment, fakeTemplate } from '#test/fakes/environment.ts';
import { answering } from '#test/fakes/sandbox-link.ts';
import { caller, CoreWorld } from '#test/support/core-world.ts';

/* Sandboxes of graders that are lost again and again, and no proof of who caused it. */

const graderTemplate = fakeTemplate({ digest: templateDigest('template-g'), role: 'grader' });
const grader = {
  kind: 'command',
  argv: ['verify'],
  files: {},
  timeoutMs: 1_000,
  onExit: 0,
  onTimeout: 0,
  onOutOfMemory: 0,
  onBroken: 0,
  fresh: { artifacts: [], mostBytes: 1_000, onArtifacts: 0 },
} as const;
/** A turn waits for a sandbox while the rest of it is long enough for the grader. */
const gradeMs = grader.timeoutMs + aroundGraderMs + 3_000;
const limits = { ...fakeEnvironment().limits, gradeMs };
const owner = {
  tenant: caller.tenant,
  run: caller.run,
  rollout: rolloutId('trace_1'),
  attempt: 1,
  role: 'grader',
} as const;

async function playedWorld(): Promise<CoreWorld> {
  const world = await CoreWorld.start({ grader, graderTemplate, limits });
  await world.ready();
  await world.sh('trace_1', 'call_1', 'echo');
  return world;
}

/** Loses as many sandboxes, each while the grader runs in it. */
async function gradedWithLosses(
  world: CoreWorld,
  cause: 'evicted' | 'preempted' | 'node_lost',
  losses: number,
) {
  world.link.behaviour = async () => {
    const claim = await world.state.claims.find(owner, 1);
    const { sandbox } = claim?.epoch ?? {};
    if (sandbox === undefined || losses === 0) return answering({ grade: { kind: 'ran', score: '0.5' } });
    losses -= 1;
    world.link.kill(sandbox);
    world.link.cut(sandbox);
    await world.state.lifecycle.lose(sandbox, null, cause, {});
    return new Promise(() => undefined);
  };
  return world.grade('trace_1', 'x');
}

const view = (world: CoreWorld) =>
  world.wired.core.view(caller, { rollout: rolloutId('trace_1'), attempt: null });

const causes = ['evicted', 'preempted', 'node_lost'] as const;

test.each(causes)('control: after two that were %s a third one grades', async (cause) => {
  await using world = await playedWorld();
  for (let sandboxes = 0; sandboxes < 3; sandboxes += 1) await world.ready(graderTemplate);
  expect(await gradedWithLosses(world, cause, 2)).toMatchObject({ score: 0.5 });
});

test.each(causes)(
  'two that were %s and no third: no score in any turn, and the discard is marked',
  async (cause) => {
    await using world = await playedWorld();
    for (let sandboxes = 0; sandboxes < 2; sandboxes += 1) await world.ready(graderTemplate);
    for (let turn = 1; turn <= 3; turn += 1) {
      await expect(gradedWithLosses(world, cause, 2)).rejects.toMatchObject({ blame: 'infrastructure' });
    }
    expect(await view(world)).toMatchObject({
      record: { score: null },
      verdict: { kind: 'discard', code: 'grader_failed', suspected: 'command' },
    });
  },
);
