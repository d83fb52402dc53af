import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callId } from '#src/model/ids.ts';
import type { CallAnswer } from '#src/protocol/sandboxd/wire.ts';
import {
  aBind,
  aShellCall,
  graderUid,
  policyUid,
  startSandboxd,
  type TestSandboxd,
} from '#test/support/sandboxd.ts';

const { signal } = new AbortController();

describe('a command in a sandbox', () => {
  let sandboxd: TestSandboxd;
  let calls = 0;
  beforeAll(async () => {
    sandboxd = await startSandboxd({ env: { IMAGE_VARIABLE: 'from the image' } });
    await sandboxd.link.bind(sandboxd.target, aBind(), signal);
  });
  afterAll(() => sandboxd.stop());

  async function run(command: string, options: Parameters<typeof aShellCall>[1] = {}): Promise<CallAnswer> {
    const call = callId(`call-${(calls += 1)}`);
    const answer = await sandboxd.link.call(
      sandboxd.target,
      call,
      aShellCall(command, options),
      30_000,
      signal,
    );
    if (answer === 'running') throw new Error('it still runs');
    return answer;
  }

  it('answers its exit code, with stdout and stderr apart', async () => {
    const answer = await run('echo out; echo err >&2; exit 7');
    expect(answer.ending).toEqual({ kind: 'exited', exitCode: 7 });
    expect(answer.stdout.head).toBe('out\n');
    expect(answer.stderr.head).toBe('err\n');
  });

  it('answers the signal that ended it', async () => {
    expect((await run('kill -SEGV $$')).ending).toEqual({ kind: 'signalled', signal: 'SIGSEGV' });
  });

  it.each([
    [['true', 'a\0b'], 'ERR_INVALID_ARG_VALUE'],
    [['true', 'x'.repeat(200_000)], 'E2BIG'],
  ])('that cannot be started has no exit code: %#', async (argv, errno) => {
    const answer = await run('', { argv });
    expect(answer.ending).toMatchObject({ kind: 'not_started', errno });
  });

  it("has the image's environment and nothing of ours, its workspace, and a user who is not ours", async () => {
    const { stdout } = await run('env; pwd; id -u; umask; cat /proc/self/oom_score_adj');
    expect(stdout.head).toContain('IMAGE_VARIABLE=from the image');
    expect(stdout.head).not.toContain('CORRAL');
    const tail = [sandboxd.workspace, policyUid, '0022', 500].join('\n');
    expect(stdout.head.endsWith(`${tail}\n`)).toBe(true);
  });

  it('takes a folder, variables, stdin and the grader as its user from the call', async () => {
    const options = { cwd: '/', env: { GREETING: 'hi' }, stdin: 'given', user: 'grader' } as const;
    const { stdout } = await run('pwd; echo $GREETING; cat; echo; id -u; id -G; umask', options);
    expect(stdout.head).toBe(`/\nhi\ngiven\n${graderUid}\n${graderUid}\n0077\n`);
  });

  it('of the grader begins in its own folder, with none of the image’s variables, and finds the workspace closed', async () => {
    const { stdout } = await run('pwd; env; ls "$CORRAL_WORKSPACE" 2>&1', { user: 'grader' });
    const own = `${sandboxd.folder}/grader/own`;
    expect(stdout.head.startsWith(`${own}\n`)).toBe(true);
    expect(stdout.head).toContain(`HOME=${own}\n`);
    expect(stdout.head).not.toContain('IMAGE_VARIABLE');
    expect(stdout.head).toContain('Permission denied');
  });

  it('reads nothing where no stdin was given', async () => {
    expect((await run('cat; echo end')).stdout.head).toBe('end\n');
  });

  it('works in a folder that only its own user may enter', async () => {
    await run('mkdir -m 700 private; echo secret > private/file');
    expect((await run('pwd; cat file', { cwd: 'private' })).stdout.head).toBe(
      `${sandboxd.workspace}/private\nsecret\n`,
    );
  });

  it('can neither signal sandboxd nor read its token, its memory or its socket', async () => {
    const daemon = sandboxd.process.pid;
    const attempts = [`kill -9 ${daemon}`, `cat /proc/${daemon}/environ`, `ls /proc/${daemon}/fd`];
    const socket = `${sandboxd.folder}/d.sock`;
    for (const attempt of [...attempts, `head -c1 /proc/${daemon}/mem`, `test -w ${socket}`]) {
      expect((await run(attempt)).ending, attempt).not.toEqual({ kind: 'exited', exitCode: 0 });
    }
    expect(await sandboxd.link.identity(sandboxd.target, signal)).toMatchObject({ state: 'bound' });
  });

  it('at its timeout dies with its whole tree, though part of it ignores TERM or left the session', async () => {
    const tree = 'echo begun; (trap "" TERM; while :; do sleep 1; done) & setsid sleep 50 & sleep 50';
    const { ending, stdout, evidence } = await run(tree, { timeoutMs: 300 });
    expect(ending).toMatchObject({ kind: 'timed_out' });
    expect(stdout.head).toBe('begun\n');
    expect(evidence).toMatchObject({ escapedProcesses: 0, backgroundProcesses: 0 });
    expect(evidence.durationMs).toBeGreaterThanOrEqual(2000);
    expect(policyProcesses()).toEqual([]);
  });

  it('that ends by itself at TERM is not kept waiting for the grace', async () => {
    // A busy machine may hold up one of them; the grace of 2 s would hold up each.
    const durations: number[] = [];
    while (durations.length < 5 && Math.min(...durations) >= 2_000) {
      const { ending, evidence } = await run('sleep 50', { timeoutMs: 200 });
      expect(ending).toEqual({ kind: 'timed_out', timeoutMs: 200, signal: 'SIGTERM' });
      durations.push(evidence.durationMs);
    }
    expect(Math.min(...durations)).toBeLessThan(2_000);
  });

  it('leaves its background processes alone, also ones that go on writing', async () => {
    const answer = await run('(while :; do echo tick; sleep 0.05; done) & echo started; echo $!');
    expect(answer.ending).toEqual({ kind: 'exited', exitCode: 0 });
    expect(answer.evidence.backgroundProcesses).toBeGreaterThan(0);
    // It is answered although it never fell silent, and writes on without a broken pipe.
    const background = answer.stdout.head.split('\n').find((line) => /^\d+$/.test(line));
    expect((await run(`sleep 0.3; kill -0 ${background} && kill -9 ${background}`)).ending).toEqual({
      kind: 'exited',
      exitCode: 0,
    });
  });

  it('that leaves a daemon in a session of its own says so', async () => {
    const answer = await run('setsid sleep 50 >/dev/null 2>&1 & sleep 0.1; echo started');
    expect(answer.evidence.backgroundProcesses).toBe(1);
    expect(await run('pkill -9 sleep')).toMatchObject({ ending: { kind: 'exited', exitCode: 0 } });
  });

  it('keeps head and tail of what it prints, and counts all of it', async () => {
    const { stdout } = await run('echo first; head -c 5000000 /dev/zero; echo last', { keepBytes: 100 });
    expect(stdout.totalBytes).toBe(5_000_011);
    expect(stdout.cutBytes).toBe(5_000_011 - 100);
    expect(stdout.head.startsWith('first\n')).toBe(true);
    expect(stdout.tail.endsWith('last\n')).toBe(true);
  });

  it('runs beside others', async () => {
    const answers = await Promise.all(Array.from({ length: 16 }, (_, index) => run(`echo ${index}`)));
    expect(answers.map(({ stdout }) => stdout.head)).toEqual(answers.map((_, index) => `${index}\n`));
  });
});

/** Command lines of all that the policy's user runs on this machine. */
function policyProcesses(): readonly string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => readOrEmpty(`/proc/${pid}/status`).includes(`Uid:\t${policyUid}`))
    .map((pid) => readOrEmpty(`/proc/${pid}/cmdline`))
    .filter((line) => line !== '');
}

function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}
