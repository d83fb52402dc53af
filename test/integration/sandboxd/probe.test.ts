import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { nativeFile } from '#infra/payload/native/compile.ts';
import { LinkError } from '#src/ports/sandbox-link.ts';
import {
  nativePrograms,
  payloadEntry,
  payloadNative,
  payloadNodeArgv,
} from '#src/protocol/sandboxd/payload-layout.ts';
import type { ProbeDepth } from '#src/protocol/sandboxd/wire.ts';
import {
  aBind,
  startSandboxd,
  startSandboxdInBwrap,
  type TestSandboxd,
  type TestSandboxdOptions,
} from '#test/support/sandboxd.ts';

const { signal } = new AbortController();
const depths: readonly ProbeDepth[] = ['whole', 'brief'];

const outcome = ({ link, target }: TestSandboxd, depth: ProbeDepth) =>
  link.probe(target, depth, signal).then(
    () => 'passed',
    (error: unknown) => (error instanceof LinkError ? error.message : error),
  );

describe('a probe', () => {
  let folder: string;
  let running: TestSandboxd[] = [];
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'corral-probe-'));
    chmodSync(folder, 0o755);
  });
  afterEach(async () => {
    await Promise.all(running.map((sandboxd) => sandboxd.stop()));
    running = [];
    rmSync(folder, { recursive: true, force: true });
  });

  async function started(sandboxd: Promise<TestSandboxd>): Promise<TestSandboxd> {
    running.push(await sandboxd);
    return sandboxd;
  }
  const inSources = (options?: TestSandboxdOptions) => started(startSandboxd(options));

  it('that is brief starts no helper where the shell finds nothing amiss', async () => {
    // A payload in which every file is at its place, and only what starts programs works.
    for (const file of [...payloadNodeArgv(folder), payloadEntry(folder, 'helper')].filter(isFile)) {
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, 'no program', { mode: 0o644 });
    }
    for (const program of nativePrograms)
      copyFileSync(nativeFile(program, process.arch), payloadNative(folder, program));
    const sandboxd = await inSources({ env: { CORRAL_PAYLOAD: folder } });
    expect(await outcome(sandboxd, 'brief')).toBe('passed');
    expect(await outcome(sandboxd, 'whole')).toContain('no helper');
  });

  it('that comes with the question who it is starts no process, and is believed where it leaves no doubt', async () => {
    const sandboxd = await inSources();
    const { link, target } = sandboxd;
    expect(await link.identity(target, signal, 'brief')).toMatchObject({ probed: true, state: 'unbound' });
    const children = readFileSync(
      `/proc/${sandboxd.process.pid}/task/${sandboxd.process.pid}/children`,
      'utf8',
    );
    expect(children).toBe('');
  });

  const amiss: readonly (readonly [string, (sandboxd: TestSandboxd) => void])[] = [
    ['closed to the policy', ({ workspace }) => chownSync(workspace, 0, 0)],
    ['of the policy’s, and not writable', ({ workspace }) => chmodSync(workspace, 0o570)],
    ['gone', ({ workspace }) => rmSync(workspace, { recursive: true })],
    ['mounted read-only', mountReadOnly],
    ['behind a folder that is closed', ({ folder: above }) => chmodSync(above, 0o700)],
  ];
  it.each(amiss)('that comes with it does not pass a workspace that is %s', async (_how, spoil) => {
    const sandboxd = await inSources();
    spoil(sandboxd);
    expect(await sandboxd.link.identity(sandboxd.target, signal, 'brief')).toMatchObject({ probed: false });
    expect(await outcome(sandboxd, 'brief')).not.toBe('passed');
  });

  it('that comes with it does not pass a sandbox without a shell, or without what a helper is made of', async () => {
    const bare = await started(startSandboxdInBwrap(folder, { shell: false }));
    expect(await bare.link.identity(bare.target, signal, 'brief')).toMatchObject({ probed: false });
    const without = await inSources({ env: { CORRAL_PAYLOAD: join(folder, 'nowhere') } });
    expect(await without.link.identity(without.target, signal, 'brief')).toMatchObject({ probed: false });
  });

  it('that comes with it looks no more once a rollout lives there', async () => {
    const { link, target } = await inSources();
    await link.bind(target, aBind(), signal);
    expect(await link.identity(target, signal, 'brief')).toMatchObject({ probed: false, state: 'bound' });
  });

  it('that is brief, where a helper could not be read, says what a whole one says', async () => {
    const sandboxd = await inSources({ env: { CORRAL_PAYLOAD: join(folder, 'nowhere') } });
    expect(await outcome(sandboxd, 'brief')).toContain('sandboxd cannot run');
  });

  it.each(depths)('that is %s names a workspace in which the policy may not write', async (depth) => {
    const sandboxd = await inSources();
    chownSync(sandboxd.workspace, 0, 0);
    chmodSync(sandboxd.workspace, 0o755);
    const said = await outcome(sandboxd, depth);
    expect(said).toContain('commands cannot work in this sandbox');
    expect(said).toContain('EACCES');
    expect(await sandboxd.link.identity(sandboxd.target, signal)).toMatchObject({ probed: false });
  });

  const found: readonly (readonly [string, (sandboxd: TestSandboxd) => void])[] = [
    ['that cannot be written', ({ workspace }) => mkdirSync(workspace, { mode: 0o755 })],
    ['that is not there', () => undefined],
  ];
  it.each(found)(
    'passes an image’s own WORKDIR %s: its sandbox works, and the task is not for it',
    async (_how, make) => {
      const sandboxd = await inSources({ env: { CORRAL_WORKSPACE_FROM: 'image' } });
      make(sandboxd);
      expect(await sandboxd.link.identity(sandboxd.target, signal, 'brief')).toMatchObject({ probed: true });
      expect(await Promise.all(depths.map((depth) => outcome(sandboxd, depth)))).toEqual([
        'passed',
        'passed',
      ]);
    },
  );

  it('leaves an image’s own WORKDIR as it is', async () => {
    const folders = { CORRAL_WORKSPACE: folder, CORRAL_WORKSPACE_FROM: 'image' };
    await inSources({ env: folders });
    expect(statSync(folder)).toMatchObject({ uid: 0, mode: 0o40755 });
  });

  it('that is brief passes in an image without a shell, where a helper works', async () => {
    const sandboxd = await started(startSandboxdInBwrap(folder, { shell: false }));
    expect(await outcome(sandboxd, 'brief')).toBe('passed');
    expect(await sandboxd.link.identity(sandboxd.target, signal)).toMatchObject({ probed: true });
  });
});

/** In the mount namespace that sandboxd was started in. */
function mountReadOnly({ process: { pid }, workspace }: TestSandboxd): void {
  const script = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0"';
  execFileSync('nsenter', ['--target', String(pid), '--mount', '--', 'sh', '-c', script, workspace]);
}

const isFile = (word: string) => word.startsWith('/') && !word.endsWith('/lib');
