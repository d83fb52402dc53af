import type { Findings } from '#demo/report/report.ts';
import { seededRandom } from '#demo/seeded-random.ts';
import { loadTasks } from '#demo/tasks/load-tasks.ts';
import type { RolloutRecord } from '#demo/trainer/record.ts';
import { planBurst } from '#demo/trainer/rollout.ts';
import { callOf, recordOf } from './demo-records.ts';

/** A made-up burst of 8 tasks by 8 copies in which three sandboxes were killed; the same at every call. */
export async function exampleFindings(): Promise<Findings> {
  const random = seededRandom('findings');
  const between = (least: number, most: number) => least + random.next() * (most - least);
  const plans = planBurst((await loadTasks()).slice(0, 8), 8, 'example');
  const victims = new Set([3, 20, 43].map((index) => plans[index]?.rollout ?? ''));
  const waits = new Map(
    plans.map(({ rollout }, at) => [rollout, at % 4 === 0 ? between(4, 40) : between(300, 2800)]),
  );

  const records = plans.map(({ rollout, item, copy, policy }): RolloutRecord => {
    const calls = [];
    let atMs = 0;
    for (
      let count = policy.name === 'over-caller' ? 14 : 2 + Math.floor(between(0, 5));
      count > 0;
      count -= 1
    ) {
      const endedMs = atMs + (atMs === 0 ? (waits.get(rollout) ?? 0) : 0) + between(40, 300);
      calls.push(callOf({ tool: random.next() < 0.6 ? 'shell' : 'read_file', startedMs: atMs, endedMs }));
      atMs = endedMs + between(300, 900);
    }
    const end = victims.has(rollout) ? 'sandbox_lost' : Math.round(between(0, 1) * 20) / 20;
    const grading = { startedMs: atMs, endedMs: atMs + 60 };
    return recordOf(item.id, end, { rollout, copy, policy: policy.name, calls, grading, endedMs: atMs + 60 });
  });

  const killed = records.filter((record) => victims.has(record.rollout));
  return {
    run: 'demo-example',
    seed: 'example',
    records,
    kills: killed.map(({ rollout, task, calls }) => ({
      rollout,
      task,
      sandbox: 's',
      atMs: (calls[0]?.endedMs ?? 0) + 20,
    })),
    fleetRun: { rollouts: 64, open: 0, scored: 61, discarded: 3, codes: { sandbox_lost: 3 } },
    fleetRollouts: records.map(({ rollout }) => ({
      rollout,
      verdict: victims.has(rollout) ? 'discard' : 'scorable',
      code: victims.has(rollout) ? 'sandbox_lost' : null,
      cause: null,
      launchType: (waits.get(rollout) ?? 0) < 100 ? 'warm' : 'cold',
      startMs: waits.get(rollout) ?? null,
    })),
  };
}
