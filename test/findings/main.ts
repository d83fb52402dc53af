import { parseArgs } from 'node:util';
import { holesInAnswers } from './holes.ts';
import { honestRuns, measure, measureHonest, seedsOf } from './measure.ts';

/* `sh setup/run.sh test/findings/main.ts`: prints how often the alarms of findings are right, for docs/findings.md. */

const { values } = parseArgs({
  options: { seeds: { type: 'string', default: '' }, why: { type: 'boolean' } },
});

for (const half of ['tuning', 'held-out'] as const) {
  const seeds = `${seedsOf[half]}${values.seeds}`;
  const { holes, recall, precision, honestAlarmed } = measure(half, seeds);
  console.log(`\nholes ${half === 'tuning' ? 'that tuned the rules' : 'that are held out'}`);
  for (const { name, runs, found, wrong } of holes)
    console.log(
      `  ${name.padEnd(22)} found in ${found} of ${runs} runs, ${wrong} alarms about other rollouts`,
    );
  console.log(`  recall ${recall.toFixed(2)}, precision ${precision.toFixed(2)}`);
  console.log(`  ${honestAlarmed} of ${honestRuns} honest runs alarmed`);
  if (values.why === true)
    for (const alarm of measureHonest(seeds).flat())
      console.log(`    ${alarm.kind} ${alarm.what}: ${alarm.text}`);
}
console.log(`\nnot visible, because only the answer shows them: ${holesInAnswers.join(', ')}`);
