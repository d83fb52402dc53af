import { expect, test } from 'vitest';
import { findLoad } from '../burst/load-findings.ts';
import type { Played } from '../burst/play-burst.ts';
import { readOptions } from '../burst/options.ts';
import type { RolloutTruth } from '../trainer/truth.ts';
import { loadJson, loadLines } from './load-report.ts';

const options = readOptions(['--url', 'http://fleet', '--key', 'k', '--all-scored'], {});
const lost = { kind: 'discarded', code: 'sandbox_lost', cause: null, at: 'grader' } as const;

function report(endings: readonly RolloutTruth['ending'][]) {
  const [plan] = [{ rollout: 'r', item: { id: 't' }, steps: [], cancelled: false }];
  const client = { timeoutMs: 1, jitter: false, freshIds: false };
  const played = endings.map((ending, copy): Played => {
    const truth = { rollout: `r${copy}`, group: 't', startedMs: 0, endedMs: 1, calls: [], ending };
    return { script: { ...plan, client }, afterMs: 0, opensAnew: false, isRight: true, truth };
  });
  const alone = { right: 1, wrong: 0 };
  const seen = { planned: endings.length, played, tries: [], alone, runsCommands: true, fleet: [] };
  const load = { run: 'load-1', lastedMs: 1, ownDelayMs: 0, findings: findLoad(seen) };
  return { lines: loadLines(load, options), json: loadJson(load, options) };
}

test('a load whose rollouts are all scored as alone ends with the zeros', () => {
  expect(report([{ kind: 'scored', score: 1 }]).lines.at(-1)).toBe('All four zeros hold.');
});

test('a sin is said before all else, also where nothing else was scored', () => {
  expect(report([{ kind: 'scored', score: 0 }]).lines.at(-1)).toContain('NOT CLEAN');
});

test('a discard is no sin, and is told where all were to be scored', () => {
  const { lines, json } = report([
    { kind: 'scored', score: 1 },
    { ...lost, message: 'gone' },
  ]);
  expect(lines.at(-1)).toContain('NOT ALL: the four zeros hold, 1 rollouts were not scored');
  expect(json).toMatchObject({
    clean: true,
    all_scored: false,
    not_scored: 1,
    discards: [{ rollout_id: 'r1' }],
  });
});

test('nothing scored shows nothing', () => {
  expect(report([{ kind: 'cancelled' }]).lines.at(-1)).toContain('NOTHING SHOWN');
});

test('words of a fleet give the terminal no orders, and stay on their line', () => {
  const { lines } = report([{ ...lost, message: 'a\u001b[2J\nAll four zeros hold.' }]);
  expect(lines).toContain('  r0: sandbox_lost at the grader: a\\u001b[2J\\u000aAll four zeros hold.');
});
