import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Value } from 'typebox/value';
import { RunAnswer } from '#src/protocol/console/run.ts';
import { madeMany } from '#test/console/made-runs.ts';
import { playedKey, playGateway } from '#test/console/played-gateway.ts';
import { type ConsoleProcess, startConsoleProcess } from '#test/support/console-process.ts';

/* A console that is killed reads on where it was: no rollout is missing, and none counts twice. */

const rollouts = 10_000;
const all = madeMany('nightly', rollouts);
const runs = new Map<string, readonly string[]>();

let folder: string;
let gateway: Awaited<ReturnType<typeof playGateway>>;
let running: ConsoleProcess | null = null;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'corral-killed-console-'));
  gateway = await playGateway(runs);
});
afterEach(async () => {
  await running?.end('SIGKILL');
  running = null;
  await gateway.stop();
  await rm(folder, { recursive: true });
});

/** Starts it on the same state folder, and logs in. */
async function start(): Promise<() => Promise<RunAnswer>> {
  running = await startConsoleProcess({
    CORRAL_CONSOLE_LISTEN: '127.0.0.1:0',
    CORRAL_CONSOLE_STATE_DIR: folder,
    CORRAL_GATEWAY_URL: gateway.url,
  });
  const url = `http://127.0.0.1:${running.port}`;
  const own = { 'x-corral-console': '1', 'content-type': 'application/json' };
  const body = JSON.stringify({ key: playedKey });
  const login = await fetch(`${url}/session`, { method: 'POST', headers: own, body });
  const cookie = login.headers.getSetCookie()[0]?.split(';')[0] ?? '';
  return async () => {
    const answer = await fetch(`${url}/api/runs/nightly`, { headers: { ...own, cookie } });
    return Value.Parse(RunAnswer, await answer.json());
  };
}

async function end(): Promise<void> {
  await running?.end('SIGKILL');
  running = null;
}

const whole = (read: () => Promise<RunAnswer>) =>
  vi.waitUntil(
    async () => {
      const run = await read();
      return !run.reading && run.counts.rollouts === rollouts ? run : false;
    },
    { timeout: 60_000, interval: 200 },
  );

test('while it reads a run for the first time, and between two readings', async () => {
  runs.set('nightly', all.slice(0, all.length / 2));
  const first = await start();
  await vi.waitUntil(async () => (await first()).counts.rollouts > 0, { timeout: 60_000 });
  await end();
  runs.set('nightly', all);
  const second = await whole(await start());
  expect(new Set(second.columns.id).size).toBe(rollouts);
  expect(second.counts).toMatchObject({ rollouts, scored: rollouts, calls: 3 * rollouts });
  expect(second.missing).toEqual([]);
  await end();
  const third = await whole(await start());
  expect(third.counts).toEqual(second.counts);
});
