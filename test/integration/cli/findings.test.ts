import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { chanceOf } from '#gallery/generators/chance.ts';
import type { Finding } from '#src/reports/findings/finding.ts';
import type { FoundRollout } from '#src/reports/findings/runs.ts';
import { madeRun } from '#test/findings/honest.ts';
import { planted, visibleHoles } from '#test/findings/holes.ts';
import { runCorral } from '#test/support/command-line.ts';

/* A made run, written as the event log writes it, and read by `corral run`. */

let folder = '';
beforeAll(() => void (folder = mkdtempSync(join(tmpdir(), 'corral-findings-'))));
afterAll(() => rmSync(folder, { recursive: true }));

const ofRollout = (id: string) => ({
  key: `lab/nightly/${id}/1/policy`,
  keyId: 'trainer',
  environment: 'env',
  version: 'v'.repeat(64),
});

function linesOf({ id, item, openedAtMs, endedAtMs, score, calls }: FoundRollout): readonly string[] {
  const settled = calls.map(({ tool, arguments: asked, blame }, index) => ({
    kind: 'call_settled',
    atMs: openedAtMs + index,
    ...ofRollout(id),
    summary: {
      call: `c${index}`,
      tool,
      state: 'settled',
      outcome: 'completed',
      code: null,
      admitted: 'yes',
      exitCode: 0,
      durationMs: 10,
      waitedMs: 0,
      outputBytes: 10,
      startedAtMs: openedAtMs + index,
      sandbox: null,
    },
    blame,
    epoch: null,
    lastCommand: asked,
    evidence: {},
  }));
  const why = { itemId: item, item: '{}', answer: {}, reference: {}, parts: [], stderr: '' };
  const verdict = {
    kind: 'verdict',
    atMs: endedAtMs,
    ...ofRollout(id),
    verdict: { kind: 'scorable' },
    score,
    suspected: null,
    evidence: {},
    openedAtMs,
    why,
  };
  return [...settled, verdict].map((event) => JSON.stringify(event));
}

async function read(rollouts: readonly FoundRollout[]) {
  const file = join(folder, 'events.jsonl');
  // In an order that no process wrote, and some of it twice, as logs of pods are saved.
  const lines = rollouts.flatMap(linesOf).toReversed();
  writeFileSync(file, [...lines, ...lines.slice(0, 500)].join('\n'));
  const asked = ['run', 'nightly', '--events', file, '--state', folder];
  const { printed } = await runCorral(asked);
  const { findings } = JSON.parse((await runCorral([...asked, '--json'])).printed) as {
    findings: readonly Finding[];
  };
  return { printed, bad: findings.filter(({ weight }) => weight === 'bad') };
}

test('a planted hole is printed first, with rollouts that show it', async () => {
  const hole = visibleHoles.find(({ name }) => name === 'forged-score');
  if (hole === undefined) throw new Error('corral attack forges no score any more');
  const run = madeRun('a run of this test', true, planted(hole, chanceOf('its share')));
  const { printed, bad } = await read(run.rollouts);
  expect(bad.map(({ what }) => what)).toContain('$CORRAL_SCORE_FILE');
  for (const id of bad[0]?.examples ?? []) expect(run.planted).toContain(id);
  expect(printed).toMatch(/what to look at\n {2}! Rollouts with a new path score higher: /);
  expect(printed).toMatch(/such as \d/);
});

test('an honest run has no alarm', async () => {
  const { printed, bad } = await read(madeRun('an honest run of this test', true).rollouts);
  expect(bad).toEqual([]);
  expect(printed).not.toContain('  ! ');
});
