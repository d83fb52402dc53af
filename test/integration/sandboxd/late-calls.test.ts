import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { callId } from '#src/model/ids.ts';
import type { CallRequest } from '#src/protocol/sandboxd/wire.ts';
import { aBind, aShellCall, startSandboxd, type TestSandboxd } from '#test/support/sandboxd.ts';

/*
 * Calls wait for one another: for room in the journal, and queries for the one process that answers them. A rollout's time ends
 * those waits, so that a policy's queue never runs on after it.
 */

let sandboxd: TestSandboxd;
beforeAll(async () => {
  sandboxd = await startSandboxd();
  await sandboxd.link.bind(sandboxd.target, aBind(), AbortSignal.timeout(60_000));
});
afterAll(() => sandboxd.stop());

/** A database for queries that read nothing. */
function makeDatabase(path: string): string {
  const database = new DatabaseSync(path);
  database.exec('CREATE TABLE pages (text)');
  database.close();
  chmodSync(path, 0o644);
  return path;
}

const send = (id: string, request: CallRequest, waitMs = 15_000) =>
  sandboxd.link.call(sandboxd.target, callId(id), request, waitMs, AbortSignal.timeout(60_000));

const known = async () => {
  const { calls } = await sandboxd.link.identity(sandboxd.target, AbortSignal.timeout(60_000));
  return new Map(calls.map(({ callId: id, state }) => [id, state]));
};

const exited = { ending: { kind: 'exited', exitCode: 0 } };
const late = { ending: { kind: 'not_started', late: true }, stdout: { head: '' } };

/** An eighth of the journal's room, less what ids cost: eight of them run at once, the next one waits. */
const large = (command: string) => aShellCall(command, { keepBytes: 1024 * 1024 });
const untilGo = (go: string) => large(`while [ ! -e ${go} ]; do sleep 0.02; done`);
const go = (name: string) => send(`go-${name}`, aShellCall(`touch ${name}`, { keepBytes: 100 }));

it('a call whose turn comes after its rollout’s time is forgotten, and sent without time it ends as late for good', async () => {
  const running = ['a1', 'a2', 'a3', 'a4', 'a5', 'a6', 'a7', 'a8'].map((id) => send(id, untilGo('first')));
  await expect.poll(async () => [...(await known()).values()]).toEqual(running.map(() => 'running'));
  const waits = { ...large('echo ran >> late-ran'), startWithinMs: 1 };
  const waiting = send('waits', waits);
  await expect.poll(async () => (await known()).has('waits')).toBe(true);
  expect(await go('first')).toMatchObject(exited);
  for (const answer of await Promise.all(running)) expect(answer).toMatchObject(exited);
  expect(await waiting).toBe('running');
  expect((await known()).has('waits')).toBe(false);
  expect(await send('waits', { ...waits, startWithinMs: 0 })).toMatchObject(late);
  expect(await send('waits', { ...waits, startWithinMs: 60_000 })).toMatchObject(late);
  expect(await send('count', aShellCall('cat late-ran 2>&1; true'))).toMatchObject({
    stdout: { head: expect.stringContaining('No such file') },
  });
});

const endless = 'WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) AS c FROM n';
const query = (database: string, timeoutMs: number): CallRequest => ({
  digest: 'query',
  action: { kind: 'query', database, sql: endless, values: {}, none: 'nothing' },
  timeoutMs,
  keepBytes: 1024,
});

it('a query behind one that takes all of its time does not start after the rollout’s time', async () => {
  const database = makeDatabase(join(sandboxd.folder, 'empty.db'));
  const slow = send('slow', query(database, 3_000));
  await expect.poll(async () => (await known()).get('slow')).toBe('running');
  const queued = ['q1', 'q2', 'q3'].map((id) => send(id, { ...query(database, 60_000), startWithinMs: 1 }));
  expect(await slow).toMatchObject({ ending: { kind: 'timed_out' } });
  expect(await Promise.all(queued)).toEqual(['running', 'running', 'running']);
  expect(await send('q1', { ...query(database, 60_000), startWithinMs: 0 })).toMatchObject(late);
  expect([...(await known()).keys()]).not.toContain('q2');
});

it('a call with a long timeout of its own runs after the rollout’s time for no longer than its tool would', async () => {
  const sleeps = { ...aShellCall('sleep 60', { timeoutMs: 60_000 }), startWithinMs: 3_000, overtimeMs: 500 };
  const answer = await send('sleeps', sleeps);
  expect(answer).toMatchObject({ ending: { kind: 'timed_out' } });
  if (answer === 'running' || answer.ending.kind !== 'timed_out') throw new Error('it was not ended');
  expect(answer.ending.timeoutMs).toBeLessThanOrEqual(3_500);
});
