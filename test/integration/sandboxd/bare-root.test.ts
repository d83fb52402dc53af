import { readFileSync, readdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { callId } from '#src/model/ids.ts';
import { payloadMountPoint } from '#src/protocol/sandboxd/payload-layout.ts';
import { endOfTar, tarHeader, tarPadding } from '#src/protocol/sandboxd/tar.ts';
import {
  aBind,
  aGrade,
  aShellCall,
  policyUid,
  startSandboxdInBwrap,
  type TestSandboxd,
} from '#test/support/sandboxd.ts';

const { signal } = new AbortController();
const mebibyte = 1024 * 1024;
const one = callId('one');

describe('sandboxd in a root with nothing but busybox', () => {
  let payloads: string;
  let sandboxd: TestSandboxd;
  beforeAll(async () => void (payloads = await mkdtemp(join(tmpdir(), 'corral-payloads-'))));
  beforeEach(async () => void (sandboxd = await startSandboxdInBwrap(payloads)));
  afterEach(() => sandboxd.stop());
  afterAll(() => rm(payloads, { recursive: true, force: true }));

  it('packs and unpacks archives where the image has no tar', async () => {
    const { link, target } = sandboxd;
    await link.bind(target, aBind(), signal);
    const entry = { path: 'deep/a', kind: 'file', mode: 0o644, mtimeS: 0, bytes: 5 } as const;
    const bytes = Buffer.concat([tarHeader(entry), Buffer.from('hello'), tarPadding(5), endOfTar]);
    const place = { path: 'in', user: 'policy', form: 'archive' } as const;
    const body = new Blob([new Uint8Array(bytes)]).stream();
    expect(await link.putFile(target, place, body, signal)).toEqual({ bytes: 5, entries: 1 });
    const back = await Array.fromAsync(await link.getFile(target, { ...place, mostBytes: mebibyte }, signal));
    expect(Buffer.concat(back).includes('deep/a\0')).toBe(true);
  });

  it('runs commands and tools as another user, and no glibc is in sight', async () => {
    const { link, target } = sandboxd;
    expect(await link.probe(target, 'whole', signal)).toMatchObject({ ok: true });
    expect(await link.probe(target, 'brief', signal)).toMatchObject({ ok: true });
    await link.bind(target, aBind(), signal);
    const libraries = 'busybox find / -name "libc*" -not -path "/.corral/*" -not -path "/proc/*" 2>/dev/null';
    const seen = aShellCall(`busybox id -u; ${libraries}; busybox mkdir -m 700 private`);
    const answer = await link.call(target, one, seen, 10_000, signal);
    expect(answer).toMatchObject({ ending: { exitCode: 0 }, stdout: { head: `${policyUid}\n` } });
    // sandboxd, without the privilege to enter it, leaves that to the command's own user.
    const inside = await link.call(
      target,
      callId('in'),
      aShellCall('pwd', { cwd: 'private' }),
      10_000,
      signal,
    );
    expect(inside).toMatchObject({ stdout: { head: '/workspace/private\n' } });
    const action = { kind: 'builtin', tool: 'list_files', arguments: { path: '/' } } as const;
    const call = { digest: 'd', action, timeoutMs: 10_000, keepBytes: 10_000 };
    const listed = await link.call(target, callId('two'), call, 10_000, signal);
    const folders = ['.corral', 'bin', 'dev', 'proc', 'tmp', 'workspace'];
    expect(listed).toMatchObject({ stdout: { head: folders.map((name) => `/${name}/\n`).join('') } });
  });

  it('costs at most 15 MB while it is idle', async () => {
    await sandboxd.link.identity(sandboxd.target, signal);
    expect(memoryOf(daemonPid(sandboxd)).privateDirty).toBeLessThanOrEqual(15 * mebibyte);
  });

  it('grows by less than 32 MB while a command prints 1 GB, and counts every byte', async () => {
    const { link, target } = sandboxd;
    await link.bind(target, aBind(), signal);
    const pid = daemonPid(sandboxd);
    const before = memoryOf(pid).resident;
    let peak = before;
    const watch = setInterval(() => (peak = Math.max(peak, memoryOf(pid).resident)), 50);
    const flood = 'echo first; busybox head -c 1073741824 /dev/zero; echo last';
    const call = aShellCall(flood, { timeoutMs: 100_000 });
    const answer = await link.call(target, one, call, 100_000, signal).finally(() => clearInterval(watch));
    if (answer === 'running') throw new Error('it still runs');
    expect(answer.stdout).toMatchObject({ totalBytes: 1_073_741_835, cutBytes: 1_073_741_835 - 65_536 });
    expect(answer.stdout.head.startsWith('first\n\0')).toBe(true);
    expect(answer.stdout.tail.endsWith('\0last\n')).toBe(true);
    expect(peak - before).toBeLessThan(32 * mebibyte);
  });

  it('answers health and other calls beside a fork bomb, kills all of it, and stays usable', async () => {
    const { link, target } = sandboxd;
    await link.bind(target, aBind(), signal);
    // A tree that grows without end but slowly enough for the machine that runs the tests.
    const bomb = 'grow() { busybox sleep 0.05; grow & grow & busybox sleep 100; }; grow & wait';
    const bombed = link.call(target, one, aShellCall(bomb, { timeoutMs: 200 }), 30_000, signal);
    await link.identity(target, signal);
    expect(await bombed).toMatchObject({ ending: { kind: 'timed_out' }, evidence: { escapedProcesses: 0 } });
    const after = await link.call(target, callId('after'), aShellCall('echo usable'), 10_000, signal);
    expect(after).toMatchObject({ stdout: { head: 'usable\n' } });
  });

  it('counts what escaped a killed command, and the grade finds nothing of it', async () => {
    const { link, target } = sandboxd;
    await link.bind(target, aBind(), signal);
    // Twice away from home: a session of its own, and orphaned before the timeout.
    const escape =
      'busybox setsid busybox sh -c "busybox setsid busybox sleep 100 & exit" & busybox sleep 100';
    const answer = await link.call(target, one, aShellCall(escape, { timeoutMs: 500 }), 10_000, signal);
    expect(answer).toMatchObject({ ending: { kind: 'timed_out' }, evidence: { escapedProcesses: 1 } });
    expect(processesOf(policyUid)).toHaveLength(1);
    const graded = await link.call(
      target,
      callId('grade'),
      aGrade('echo 1 > $CORRAL_SCORE_FILE'),
      10_000,
      signal,
    );
    expect(graded).toMatchObject({ grade: { kind: 'ran', score: '1\n' } });
    expect(processesOf(policyUid)).toEqual([]);
  });

  it('takes everything in the sandbox with it when its time has passed', async () => {
    const { link, target, process } = sandboxd;
    const exited = new Promise((resolve) => process.once('exit', resolve));
    await link.bind(target, aBind('r1', 400), signal);
    await link.call(target, one, aShellCall('busybox setsid busybox sleep 100 & echo'), 350, signal);
    expect(await exited).toBe(0);
    await expect.poll(() => processesOf(policyUid)).toEqual([]);
  });
});

describe('sandboxd that runs commands as itself by choice', () => {
  let payloads: string;
  beforeAll(async () => void (payloads = await mkdtemp(join(tmpdir(), 'corral-payloads-'))));
  afterAll(() => rm(payloads, { recursive: true, force: true }));

  it('says that it is one user, and a grade ends the commands and spares sandboxd', async () => {
    const sandboxd = await startSandboxdInBwrap(payloads, { users: 'root' });
    try {
      const { link, target } = sandboxd;
      expect(await link.bind(target, aBind(), signal)).toMatchObject({ isolation: 'single-user' });
      const call = aShellCall('busybox setsid busybox sleep 100 & busybox id -u');
      expect(await link.call(target, one, call, 10_000, signal)).toMatchObject({ stdout: { head: '0\n' } });
      const grade = aGrade('busybox ps | busybox grep -c [s]leep > $CORRAL_SCORE_FILE; true');
      expect(await link.call(target, callId('grade'), grade, 10_000, signal)).toMatchObject({
        grade: { kind: 'ran', score: '0\n' },
      });
      expect(await link.identity(target, signal)).toMatchObject({ state: 'bound' });
    } finally {
      await sandboxd.stop();
    }
  });
});

/** From outside: the process that was started through the payload's loader for this sandbox. */
function daemonPid({ target }: TestSandboxd): number {
  const isDaemon = (pid: string) =>
    readOrEmpty(`/proc/${pid}/cmdline`).startsWith(`${payloadMountPoint}/lib/ld.so`) &&
    readOrEmpty(`/proc/${pid}/environ`).includes(`CORRAL_SANDBOX_ID=${target.sandbox}\0`);
  const pid = processIds().find(isDaemon);
  if (pid === undefined) throw new Error(`no process of sandbox ${target.sandbox}`);
  return Number(pid);
}

function memoryOf(pid: number): { readonly resident: number; readonly privateDirty: number } {
  const rollup = readOrEmpty(`/proc/${pid}/smaps_rollup`);
  const bytes = (name: string) => 1024 * Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(rollup)?.[1]);
  return { resident: bytes('Rss'), privateDirty: bytes('Private_Dirty') };
}

function processesOf(uid: number): readonly string[] {
  return processIds().filter((pid) => readOrEmpty(`/proc/${pid}/status`).includes(`\nUid:\t${uid}\t`));
}

function processIds(): readonly string[] {
  return readdirSync('/proc').filter((name) => /^\d+$/.test(name));
}

function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}
