import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { callId } from '#src/model/ids.ts';
import type { CallAnswer, CallEvidence } from '#src/protocol/sandboxd/wire.ts';
import { sharedPayload } from '#test/support/fleet-folders.ts';
import { queuePrograms, type TakenLimit, takeAll, takenLimits } from '#test/support/limit-takers.ts';
import {
  aBind,
  aShellCall,
  graderUid,
  policyUid,
  startSandboxdInBwrap,
  type TestSandboxd,
} from '#test/support/sandboxd.ts';

/*
 * The commands of a pod are the user 1000 of their node, as those of other pods. Here a neighbor is another process of the same user, which
 * sandboxd does not see: its sandbox has processes of its own, as a pod has.
 */

/** No other process of this machine has these ids: the kernel counts for all of it. */
const uid = policyUid;
const neighborsOwn = graderUid;

let started: TestSandboxd;
beforeAll(async () => {
  started = await startSandboxdInBwrap(sharedPayload, {
    programs: true,
    env: { CORRAL_SHARED_LIMITS: 'user' },
  });
  await started.link.bind(started.target, aBind(), AbortSignal.timeout(60_000));
});
afterAll(() => started.stop());

let calls = 0;
async function answerTo(command: string): Promise<CallAnswer> {
  const { link, target } = started;
  calls += 1;
  const id = callId(`c${calls}`);
  const answer = await link.call(target, id, aShellCall(command), 15_000, AbortSignal.timeout(60_000));
  if (answer === 'running') throw new Error('it still runs');
  return answer;
}

const evidenceOf = async (command: string): Promise<CallEvidence> => (await answerTo(command)).evidence;

type Neighbor = ChildProcessByStdio<Writable, Readable, null>;

/** Resolves when it has taken all. */
async function neighbor(limit: TakenLimit, id: number): Promise<Neighbor> {
  const user = ['--reuid', String(id), '--regid', String(id), '--clear-groups'];
  const argv = [...user, 'sh', '-c', takeAll(limit)];
  const child = spawn('setpriv', argv, { cwd: '/', stdio: ['pipe', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [said] = (await once(child.stdout, 'data')) as [Buffer];
  expect(said.toString()).toMatch(/^took [1-9]/);
  return child;
}

/** The kernel gives some of it back a while after the process has ended. */
const untilFree = () =>
  expect.poll(() => evidenceOf('true'), { timeout: 30_000 }).not.toHaveProperty('limitsUsedUp');

/** What sandboxd tried with while the neighbor took the rest is free for some milliseconds. */
const untilUsedUp = (limit: TakenLimit) =>
  expect.poll(() => evidenceOf('true'), { timeout: 30_000 }).toMatchObject({ limitsUsedUp: [limit] });

async function end(child: Neighbor): Promise<void> {
  child.stdin.end();
  await once(child, 'close');
}

it.each(takenLimits)('a call while a neighbor of the same user has all of it says so: %s', async (limit) => {
  expect(await evidenceOf('true')).not.toHaveProperty('limitsUsedUp');
  const taker = await neighbor(limit, uid);
  await untilUsedUp(limit);
  await end(taker);
  await untilFree();
});

it('a message queue that an ended look left behind is removed by the next one', async () => {
  const { create, find } = queuePrograms(`try-limits-${String(uid).split('').toReversed().join('')}`);
  // Each call ends with a look.
  expect(await answerTo(`perl -e '${create}'`)).toMatchObject({ ending: { exitCode: 0 } });
  expect(await answerTo(`perl -e '${find}'`)).toMatchObject({ stdout: { head: 'removed' } });
});

it('what a neighbor of another user takes does not count', async () => {
  const taker = await neighbor('inotify_instances', neighborsOwn);
  expect(await evidenceOf('true')).not.toHaveProperty('limitsUsedUp');
  await end(taker);
});

it('a neighbor that takes it during a call and gives it back is seen', async () => {
  const running = evidenceOf('until [ -e go ]; do sleep 0.05; done; rm go');
  const taker = await neighbor('inotify_instances', uid);
  // Longer than two looks, also on a machine that is late with them.
  await new Promise((resolve) => setTimeout(resolve, 900));
  await end(taker);
  await evidenceOf('touch go');
  expect(await running).toMatchObject({ limitsUsedUp: ['inotify_instances'] });
});

it('a command that ends the process which looks, while it can, gets another one', async () => {
  await evidenceOf('for i in $(seq 100); do pkill -KILL try-limits; done; true');
  const taker = await neighbor('inotify_instances', uid);
  await untilUsedUp('inotify_instances');
  await end(taker);
});
