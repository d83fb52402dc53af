import { parseArgs } from 'node:util';
import { RealScripts } from './fleet/real-scripts.ts';
import { simulate } from './simulate.ts';
import { verdictLines } from './tell.ts';

/** `npm run sim -- --seed N [--steps M] [--rollouts R] [--seeds COUNT]`: tells one seed's story, or runs many. */
const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    steps: { type: 'string' },
    rollouts: { type: 'string' },
    seeds: { type: 'string', default: '1' },
  },
});

const first = Number(values.seed);
const count = Number(values.seeds);
const optional = {
  ...(values.steps === undefined ? {} : { steps: Number(values.steps) }),
  ...(values.rollouts === undefined ? {} : { rollouts: Number(values.rollouts) }),
};

const scripts = await RealScripts.start();
try {
  let rollouts = 0;
  let broken = 0;
  for (let seed = first; seed < first + count; seed += 1) {
    const report = await simulate(scripts, { seed, ...optional });
    rollouts += report.rollouts;
    if (report.violation !== null) broken += 1;
    if (count === 1) for (const line of report.story) console.log(line);
    if (count === 1 || report.violation !== null) for (const line of verdictLines(report)) console.log(line);
  }
  if (count > 1) console.log(`${count} seeds, ${rollouts} rollouts, ${broken} broken`);
  process.exitCode = broken === 0 ? 0 : 1;
} finally {
  await scripts.stop();
}
