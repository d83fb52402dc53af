import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { callId } from '#src/model/ids.ts';
import type { CallAnswer, CallRequest } from '#src/protocol/sandboxd/wire.ts';
import {
  aBind,
  aGrade,
  aShellCall,
  policyUid,
  startSandboxd,
  type TestSandboxd,
  type TestSandboxdOptions,
} from '#test/support/sandboxd.ts';

/*
 * Who owns a program's file may delay everybody who opens it (a lease). Here a process outside holds leases, because no process of
 * the policy can get one: the delay must be that one call's, whoever holds it.
 */

const soonMs = 60_000;

let sandboxd: TestSandboxd;
let calls = 0;
afterEach(() => sandboxd.stop());

async function start(options?: TestSandboxdOptions): Promise<void> {
  sandboxd = await startSandboxd(options);
  await sandboxd.link.bind(sandboxd.target, aBind(), AbortSignal.timeout(soonMs));
}

async function ask(request: CallRequest): Promise<CallAnswer> {
  const call = callId(`call-${(calls += 1)}`);
  const { link, target } = sandboxd;
  const answer = await link.call(target, call, request, soonMs, AbortSignal.timeout(soonMs));
  if (answer === 'running') throw new Error('it still runs');
  return answer;
}
const sh = (command: string) => ask(aShellCall(command));
const listFiles = (path: string) =>
  ask({
    digest: `list ${path}`,
    action: { kind: 'builtin', tool: 'list_files', arguments: { path } },
    timeoutMs: soonMs,
    keepBytes: 10_000,
  });

/** A script that the next one interprets, five in a row, as many as the kernel follows; each is opened for itself. */
function makeChain(name: string): readonly string[] {
  const files = [1, 2, 3, 4, 5].map((index) => join(sandboxd.workspace, `${name}-${index}`));
  files.forEach((file, index) => {
    writeFileSync(file, `#!${files[index + 1] ?? '/bin/sh'}\n`);
    chownSync(file, policyUid, policyUid);
    chmodSync(file, 0o755);
  });
  return files;
}

const holding = `
import fcntl, signal, sys
signal.signal(signal.SIGIO, signal.SIG_IGN)
files = [open(path) for path in sys.argv[1:]]
for file in files: fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
print("held", flush=True)
sys.stdin.read()
`;

/** Until the end of the test, which is long before the kernel would take the leases back. */
async function holdLeases(files: readonly string[]): Promise<void> {
  const holder = spawn('python3', ['-c', holding, ...files], { stdio: ['pipe', 'pipe', 'inherit'] });
  onTestFinished(() => void holder.kill('SIGKILL'));
  expect(String((await once(holder.stdout, 'data'))[0])).toMatch(/^held/);
}

describe('where leases are held on five files of a program', () => {
  beforeEach(() => start());

  it('a call of it times out, and others are answered before that', async () => {
    const [program = '', ...rest] = makeChain('tool');
    await holdLeases([program, ...rest]);
    const order: string[] = [];
    const note = async <Answer>(name: string, answer: Promise<Answer>): Promise<Answer> =>
      answer.finally(() => order.push(name));
    const held = note('held', ask(aShellCall('', { argv: [program], timeoutMs: 5_000 })));
    const beside = [
      note('beside', sandboxd.link.identity(sandboxd.target, AbortSignal.timeout(soonMs))),
      note('beside', sh('echo here')),
      note('beside', listFiles('.')),
    ];
    await Promise.all(beside);
    expect(await beside[1]).toMatchObject({ stdout: { head: 'here\n' } });
    expect((await held).ending).toMatchObject({ kind: 'timed_out' });
    expect(order).toEqual(['beside', 'beside', 'beside', 'held']);
  });

  it('a grader that runs it with as-policy hears that its time is up, and gives its score', async () => {
    const files = makeChain('case');
    await holdLeases(files);
    const command = `as-policy --timeout 1 ${files[0]}; echo "$?" > "$CORRAL_SCORE_FILE"`;
    expect((await ask(aGrade(command))).grade).toEqual({ kind: 'ran', score: '124\n' });
  });

  it('a grader that is such a program times out, and sandboxd answers meanwhile', async () => {
    const files = makeChain('grader');
    chmodSync(sandboxd.workspace, 0o755);
    await holdLeases(files);
    const request = aGrade('', { timeoutMs: 3_000 });
    const action = { ...request.action, argv: [files[0] ?? ''] } as CallRequest['action'];
    const graded = ask({ ...request, action });
    await sandboxd.link.identity(sandboxd.target, AbortSignal.timeout(soonMs));
    const { ending, grade } = await graded;
    expect(ending).toMatchObject({ kind: 'timed_out' });
    expect(grade).toEqual({ kind: 'ran', score: null });
  });
});

/** What the kernel answers to what a policy would delay others with, or take memory with that nobody counts. */
const asking = `
import ctypes, os, platform, socket
libc = ctypes.CDLL(None, use_errno=True)
def errno(answer): return ctypes.get_errno() if answer < 0 else 0
def family(protocol):
  try: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol).close(); return 0
  except OSError as error: return error.errno
clone = 56 if platform.machine() == "x86_64" else 220
file = os.open("/proc/self/exe", os.O_RDONLY)
print(errno(libc.fcntl(file, 1024, 1)), errno(libc.fcntl(os.open(".", os.O_RDONLY), 1040, 1)),
  errno(libc.syscall(clone, 0x8000 | 17, 0, 0, 0, 0)), family(0), family(16), sep=" ")
`;
const answers = '22 22 1 0 93\n';

describe('file leases, children of sandboxd’s and most of netlink', () => {
  beforeEach(() => start());

  const python = `python3 -c '${asking}'`;
  it('are refused to a command', async () => {
    expect(await sh(python)).toMatchObject({ stderr: { head: '' }, stdout: { head: answers } });
  });

  it('are refused to a grader and to the programs that it runs as the policy', async () => {
    const answer = await ask(aGrade(`cd files; ${python}; as-policy python3 -c '${asking}'`));
    expect(answer).toMatchObject({ stderr: { head: '' }, stdout: { head: answers + answers } });
  });
});

describe('a sandboxd with open descriptors that nothing has marked', () => {
  const foreign = [40, 251, 1023];
  beforeEach(() => start({ inherited: foreign }));

  const seen = 'ls /proc/self/fd; for fd in 40 251 1023; do [ ! -e /proc/self/fd/$fd ] || echo found; done';
  const wanted = '0\n1\n2\n3\n';

  it('has them', async () => {
    const daemon = `/proc/${sandboxd.process.pid}/fd`;
    const { stdout } = spawn('ls', [daemon]);
    expect((await text(stdout)).split('\n')).toEqual(expect.arrayContaining(foreign.map(String)));
  });

  it('gives none to a command, a grader, or a program of the policy that a grader runs', async () => {
    expect((await sh(seen)).stdout.head).toBe(wanted);
    const graded = await ask(aGrade(`${seen}; as-policy sh -c '${seen}'`));
    expect(graded.stdout.head).toBe(wanted + wanted);
  });

  it('gives none to a helper, which is a Node with descriptors of its own', async () => {
    const paths = (await listFiles('/proc/self/fd')).stdout.head.trim().split('\n');
    const numbers = paths.map((path) => Number(path.replace('/proc/self/fd/', '')));
    expect(numbers).toEqual(expect.arrayContaining([0, 1, 2]));
    expect(numbers.filter((number) => foreign.includes(number))).toEqual([]);
  });
});
