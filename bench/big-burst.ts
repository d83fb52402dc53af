import { exactly, quantile, within } from './figures.ts';
import type { Benchmark, Figure } from './figures.ts';
import { startBenchFleet } from './fleet.ts';

const burst = 200;
const pool = 20;
/** What an RFT request may take. */
const deadlineMs = 540_000;

/** Two hundred rollouts in one instant on a pool of twenty: nobody is refused, lost, or answered twice. */
export const bigBurst: Benchmark = {
  name: 'big-burst',
  run: async (say) => {
    say(`starting a fleet with ${pool} warm sandboxes`);
    await using bench = await startBenchFleet({ minReady: pool, max: 400 });
    await bench.warm(pool);
    say(`${burst} first calls in one instant`);
    const start = performance.now();
    const answers = await Promise.all(
      Array.from({ length: burst }, async (_, index) => {
        // Each writes its own number where a second execution would be seen.
        const command = `echo ${index} >> seen; cat seen`;
        const answer = await bench.tryCall(`rollout-${index}`, `call-${index}`, command);
        return { ...answer, index, elapsedMs: performance.now() - start };
      }),
    );
    return figuresOf(answers);
  },
};

type Answer = {
  readonly status: number;
  readonly body: string;
  readonly index: number;
  readonly elapsedMs: number;
};

function figuresOf(answers: readonly Answer[]): readonly Figure[] {
  const outputs = answers.map(({ status, body }) =>
    status === 200 ? (JSON.parse(body) as { output: string }).output : '',
  );
  const lost = answers.filter(({ status }) => status !== 200).length;
  const wrong = answers.filter(
    ({ status, index }) => status === 200 && outputs[index] !== `${index}\n`,
  ).length;
  const refused = answers.filter(({ status }) => status >= 400 && status < 500).length;
  const times = answers.map(({ elapsedMs }) => elapsedMs);
  return [
    none('not answered 200', lost),
    none('answered with 4xx', refused),
    none('run twice, or in another rollout’s sandbox', wrong),
    within({ what: 'last answer', unit: 'ms', value: Math.max(...times), floor: deadlineMs }),
    within({ what: 'p50 of the answers', unit: 'ms', value: quantile(times, 0.5), floor: deadlineMs }),
  ];
}

const none = (what: string, value: number): Figure =>
  exactly({ what: `rollouts of ${burst} ${what}`, unit: '', value, floor: 0 });
