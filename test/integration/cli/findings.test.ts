import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
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

const ofRollout = (id: string, tenant: string) => ({
  key: `${tenant}/nightly/${id}/1/policy`,
  keyId: 'trainer',
  environment: 'env',
  version: 'v'.repeat(64),
});

function linesOf(
  { id, item, openedAtMs, endedAtMs, score, calls }: FoundRollout,
  tenant = 'lab',
): readonly string[] {
  const settled = calls.map(({ tool, arguments: asked, blame }, index) => ({
    kind: 'call_settled',
    atMs: openedAtMs + index,
    ...ofRollout(id, tenant),
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
    ...ofRollout(id, tenant),
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
  const lines = rollouts.flatMap((rollout) => linesOf(rollout)).toReversed();
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

describe('two tenants with runs of one name', () => {
  const { rollouts } = madeRun('a run of two tenants', true);
  const [first, second] = [rollouts.slice(0, 3), rollouts.slice(3, 8)];
  const write = () => {
    const file = join(folder, 'two-tenants.jsonl');
    const lines = [
      ...first.flatMap((rollout) => linesOf(rollout)),
      ...second.flatMap((rollout) => linesOf(rollout, 'other')),
    ];
    writeFileSync(file, lines.join('\n'));
    return ['--events', file, '--state', folder];
  };

  test.each([
    ['run', 'nightly'],
    ['study', 'env', '--run', 'nightly'],
  ])('corral %s refuses both together', async (...command) => {
    const { exitCode, said } = await runCorral([...command, ...write()]);
    expect(exitCode).toBe(2);
    expect(said).toMatch(/tenants lab and other each have a run nightly/);
    expect(said).toContain('--tenant');
  });

  test('corral run tells of the tenant that is named, and of no other', async () => {
    for (const [tenant, count] of [
      ['lab', 3],
      ['other', 5],
    ] as const) {
      const { printed } = await runCorral(['run', 'nightly', '--tenant', tenant, '--json', ...write()]);
      expect(JSON.parse(printed)).toMatchObject({ rollouts: count, scored: count });
    }
    const none = await runCorral(['run', 'nightly', '--tenant', 'absent', ...write()]);
    expect(none.exitCode).toBe(2);
  });

  test('a fleet whose key is of another tenant adds nothing to a log that is read', async () => {
    const asked: string[] = [];
    const server = createServer(({ url = '' }, response) => {
      asked.push(url);
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ key: 'trainer', tenant: 'third', scopes: ['native'] }));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    try {
      const { port } = server.address() as AddressInfo;
      const fleet = ['--url', `http://127.0.0.1:${port}`, '--key', 'k'];
      const of = ['run', 'nightly', '--json', ...fleet, ...write()];
      const { printed } = await runCorral([...of, '--tenant', 'other']);
      expect(JSON.parse(printed)).toMatchObject({ source: 'event log', rollouts: 5 });
      expect(asked).toEqual(['/v1/key']);
    } finally {
      server.close();
      server.closeAllConnections();
    }
  });
});
