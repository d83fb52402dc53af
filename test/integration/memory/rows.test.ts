import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { callId, rolloutId, tenantId } from '#src/model/ids.ts';
import type { Item } from '#src/model/grader.ts';
import type { Judge } from '#src/ports/judge.ts';
import { caller, CoreWorld, plain } from '#test/support/core-world.ts';

/** What a small Redis may hold; it refuses writes beyond it. */
const maxMemory = '256mb';
const judged = {
  kind: 'http',
  url: 'http://judge',
  headers: {},
  timeoutMs: 60_000,
  retries: 0,
  onRefused: 0,
  control: 'no',
} as const;

/** A row as large as the protocol takes. */
const largeRow = (name: string): Item => ({ id: name, answer: 'yes', text: 'x'.repeat(1_000_000) });

function grade(world: CoreWorld, tenant: string, name: string, item: Item | null) {
  return world.wired.core.grade(
    { ...caller, tenant: tenantId(tenant) },
    {
      rollout: { rollout: rolloutId(name), attempt: null },
      open: { environment: plain, item },
      sample: '{"output_text":"yes","output_tools":[]}',
      waitMs: world.waitMs,
    },
  );
}

test('grades of 1 MB rows, more than Redis may hold, are all scored: a row goes with the end of its rollout', async () => {
  await using world = await CoreWorld.start({}, undefined, { maxMemory });
  for (let index = 0; index < 300; index += 1) {
    const name = `trace_${index}`;
    expect(await grade(world, 'greedy', name, largeRow(name))).toMatchObject({ score: 1 });
  }
  expect(await grade(world, 'other', 'trace_1', largeRow('trace_1'))).toMatchObject({ score: 1 });
  const { usedBytes } = await world.state.memory.usage();
  expect(usedBytes).toBeLessThan(32_000_000);
});

test('a tenant whose open rollouts hold a quarter of Redis in rows is told rows_full, and nobody else notices', async () => {
  const verdict = Promise.withResolvers<{ score: number }>();
  let asked = 0;
  const judge: Judge = {
    score: async () => {
      asked += 1;
      return { kind: 'scored', ...(await verdict.promise) };
    },
  };
  await using world = await CoreWorld.start({ grader: judged }, judge, { maxMemory });
  const refusals: unknown[] = [];
  const grades: Promise<unknown>[] = [];
  while (grades.length < 300) {
    const name = `trace_${grades.length}`;
    const refused = (thrown: unknown) => void refusals.push(thrown);
    grades.push(grade(world, 'greedy', name, largeRow(name)).catch(refused));
    // As fast as a busy machine takes them.
    const told = () => asked + refusals.length;
    if (grades.length % 10 === 0) await expect.poll(told, { timeout: 20_000 }).toBe(grades.length);
  }
  expect(asked).toBe(67);
  expect(refusals).toContainEqual(
    expect.objectContaining({ code: 'rows_full', blame: 'caller', retry: 'later' }),
  );

  const other = Promise.all(['a', 'b'].map((name) => grade(world, 'other', name, largeRow(name))));
  verdict.resolve({ score: 0.5 });
  expect(await other).toMatchObject([{ score: 0.5 }, { score: 0.5 }]);
  await Promise.all(grades);
  expect(await grade(world, 'greedy', 'trace_299', largeRow('trace_299'))).toMatchObject({ score: 0.5 });
});

test('a score is told again when its row is gone, also where the environment exposes a field of it', async () => {
  await using world = await CoreWorld.start({ expose: ['answer'] });
  const first = await grade(world, 'lab', 'trace_1', largeRow('trace_1'));
  expect(first).toMatchObject({ score: 1, replayed: false });
  expect(await grade(world, 'lab', 'trace_1', largeRow('trace_1'))).toMatchObject({
    score: 1,
    replayed: true,
  });
  expect(await grade(world, 'lab', 'trace_1', null)).toMatchObject({ score: 1, replayed: true });
});

test('a call that is repeated after the end of its rollout is known, although its row is gone: its answer went with the sandbox', async () => {
  await using world = await CoreWorld.start({ expose: ['answer'] });
  await world.ready();
  await world.sh('trace_1', 'call_1', 'echo');
  await world.grade('trace_1', 'yes', ['call_1']);
  const other = world.gateway();
  const again = world.sh('trace_1', 'call_1', 'echo', other.core);
  await expect(again).rejects.toMatchObject({ code: 'answer_expired', admitted: 'yes' });
  expect(world.link.ran).toEqual(['call_1']);
  await other.close();
});

test('the row of an open rollout that Redis has lost is state_unavailable until it is sent again, and never a missing field', async () => {
  await using world = await CoreWorld.start({ expose: ['answer'] });
  world.waitMs = 1_000;
  await world.open('trace_1', { item: { id: 'item-1', answer: 'yes' } });
  const redis = new Redis(world.redis.socket);
  for (const row of await redis.keys('*:row:*')) await redis.del(row);
  redis.disconnect();
  await expect(grade(world, 'lab', 'trace_1', null)).rejects.toMatchObject({ code: 'state_unavailable' });
  const run = world.wired.core.exec(caller, {
    rollout: { rollout: rolloutId('trace_1'), attempt: null },
    call: callId('call_1'),
    argv: ['true'],
    timeoutMs: null,
    waitMs: world.waitMs,
  });
  await expect(run).rejects.toMatchObject({ code: 'state_unavailable' });
  expect(await grade(world, 'lab', 'trace_1', { id: 'item-1', answer: 'yes' })).toMatchObject({ score: 1 });
});

test('what is counted for a tenant is what its open rollouts’ rows hold, also where attempts replace each other, and nothing at the end', async () => {
  await using world = await CoreWorld.start();
  const redis = new Redis(world.redis.socket);
  const held = async () => {
    const rows = await redis.keys('*:row:*');
    const bytes = await Promise.all(rows.map((row) => redis.strlen(row)));
    return bytes.reduce((sum, one) => sum + one, 0);
  };
  const counted = async () => {
    const [counter] = await redis.keys('*:row-bytes:*');
    return counter === undefined ? null : Number(await redis.get(counter));
  };
  const open = (index: number, attempt: number, bytes: number) =>
    world.open(`trace_${index}`, { attempt, item: { id: 'item-1', text: 'x'.repeat(bytes) } });
  const each = Array.from({ length: 50 }, (_, index) => index);
  await Promise.all(each.map((index) => open(index, 1, 1_000 + index)));
  await Promise.all(each.map((index) => open(index, 1, 5_000)));
  await Promise.all(each.filter((index) => index % 2 === 0).map((index) => open(index, 2, 300)));
  expect(await counted()).toBe(await held());
  expect(await held()).toBeGreaterThan(25 * 1_000 + 300);
  await world.state.lifecycle.closeRun(caller.tenant, caller.run, 1_000);
  expect([await held(), await counted()]).toEqual([0, null]);
  redis.disconnect();
});
