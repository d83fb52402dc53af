import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { callId } from '#src/model/ids.ts';
import { LinkError } from '#src/ports/sandbox-link.ts';
import type { CallAnswer, CallRequest } from '#src/protocol/sandboxd/wire.ts';
import { timeLimit } from '#src/waiting/time-limit.ts';
import {
  aBind,
  aGrade,
  aShellCall,
  startSandboxd,
  startSandboxdInBwrap,
  type TestSandboxd,
} from '#test/support/sandboxd.ts';

/*
 * A child that has become the policy's user and not yet its program can be stopped by the policy. sandboxd has one thread, and
 * does not wait there for it: what is stopped is that one call, until its timeout.
 */

const quietly = (script: string) => `busybox setsid sh -c '${script}' > /dev/null 2>&1 & echo left`;
/** Begins when the test has seen the end of its own call, or it would stop that. */
const storm = quietly(
  'until [ -e go ]; do busybox sleep 0.1; done; echo > began; while :; do kill -STOP -1; done',
);
/** A program that is looked for in so many folders is not there for many milliseconds: long enough to be met there for certain. */
const longPath = `${'/-:'.repeat(40_000)}/usr/bin:/bin`;
/** The command's timeout and its grace; the rest is for a busy machine. */
const soonMs = 15_000;

let payloads: string;
beforeAll(async () => void (payloads = await mkdtemp(join(tmpdir(), 'corral-payloads-'))));
afterAll(() => rm(payloads, { recursive: true, force: true }));

describe.each([
  ['a pid namespace of its own', () => startSandboxdInBwrap(payloads)],
  ['a pid namespace that others are in too', () => startSandboxd()],
] as const)('sandboxd in %s', (_, start) => {
  let sandboxd: TestSandboxd;
  let calls = 0;
  beforeEach(async () => {
    sandboxd = await start();
    await sandboxd.link.bind(sandboxd.target, aBind(), AbortSignal.timeout(soonMs));
  });
  afterEach(async () => {
    // Where it is frozen it hears no other.
    if (!(await isAnswering(sandboxd))) sandboxd.process.kill('SIGKILL');
    await sandboxd.stop();
  });

  async function ask(request: CallRequest): Promise<CallAnswer> {
    const call = callId(`call-${(calls += 1)}`);
    const signal = AbortSignal.timeout(soonMs);
    const answer = await sandboxd.link.call(sandboxd.target, call, request, soonMs, signal);
    if (answer === 'running') throw new Error('it still runs');
    return answer;
  }
  const sh = (command: string) => ask(aShellCall(command, { timeoutMs: 2_000 }));
  const slowly = (command: string) => ask(aShellCall(command, { timeoutMs: 1_000, env: { PATH: longPath } }));

  async function startStorm(): Promise<void> {
    expect(await sh(storm)).toMatchObject({ stdout: { head: 'left\n' } });
    await writeFile(join(sandboxd.workspace, 'go'), '');
    await expect.poll(() => existsSync(join(sandboxd.workspace, 'began'))).toBe(true);
  }

  /** On a busy machine the storm may come by before the child is the policy's, or after its end. */
  async function untilMet(): Promise<boolean> {
    for (let tries = 0; tries < 10; tries += 1) {
      const { ending, stdout } = await slowly('echo later');
      if (ending.kind === 'timed_out' && stdout.head === '') return true;
    }
    return false;
  }

  it(
    'answers calls, tools and a grade while something of the policy stops all that it can',
    { timeout: 120_000 },
    async () => {
      await startStorm();
      expect(await untilMet()).toBe(true);
      const action = { kind: 'builtin', tool: 'list_files', arguments: { path: '.' } } as const;
      const tool = { digest: 'tool', action, timeoutMs: 2_000, keepBytes: 1_000 };
      await Promise.all([sh('echo later'), ask(tool)]);
      expect(await isAnswering(sandboxd)).toBe(true);
      const { grade } = await ask(aGrade('echo 0.25 > "$CORRAL_SCORE_FILE"'));
      expect(grade).toEqual({ kind: 'ran', score: '0.25\n' });
    },
  );

  it(
    'reports an upload whose helper is stopped by name, before its sender gives up',
    { timeout: 60_000 },
    async () => {
      await startStorm();
      const place = { path: 'file', user: 'policy', form: 'file' } as const;
      const putOnce = () => {
        const limit = timeLimit(4_000);
        const body = new Blob(['text']).stream();
        return sandboxd.link.putFile(sandboxd.target, place, body, ...limit).then(
          () => null,
          (error: unknown) => (error instanceof LinkError ? error.trouble : error),
        );
      };
      // The storm may come by before the helper is the policy's, or after its end.
      let trouble = await putOnce();
      for (let tries = 1; trouble === null && tries < 10; tries += 1) trouble = await putOnce();
      expect(trouble).toMatchObject({ kind: 'refused', code: 'file_error', errno: 'ETIMEDOUT' });
    },
  );

  it('answers others before a call that is stopped at its start', { timeout: 60_000 }, async () => {
    await startStorm();
    const answered: string[] = [];
    const later = Promise.all([1, 2, 3].map((n) => slowly(`echo ${n}`))).then((answers) => {
      answered.push('the calls');
      return answers;
    });
    expect(await isAnswering(sandboxd)).toBe(true);
    answered.push('who it is');
    const endings = (await later).map(({ ending }) => ending.kind);
    if (endings.includes('timed_out')) expect(answered).toEqual(['who it is', 'the calls']);
  });
});

function isAnswering({ link, target }: TestSandboxd): Promise<boolean> {
  return link.identity(target, AbortSignal.timeout(soonMs)).then(
    () => true,
    () => false,
  );
}
