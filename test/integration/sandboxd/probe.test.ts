import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LinkError } from '../../../src/ports/sandbox-link.ts';
import { payloadEntry, payloadNodeArgv } from '../../../src/protocol/sandboxd/payload-layout.ts';
import type { ProbeDepth } from '../../../src/protocol/sandboxd/wire.ts';
import { startSandboxd, startSandboxdInBwrap } from '../../support/sandboxd.ts';
import type { TestSandboxd, TestSandboxdOptions } from '../../support/sandboxd.ts';

const signal = AbortSignal.timeout(120_000);
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
    // A payload in which everything lies at its place and nothing works.
    for (const file of [...payloadNodeArgv(folder), payloadEntry(folder, 'helper')].filter(isFile)) {
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, 'no program', { mode: 0o644 });
    }
    const sandboxd = await inSources({ env: { CORRAL_PAYLOAD: folder } });
    expect(await outcome(sandboxd, 'brief')).toBe('passed');
    expect(await outcome(sandboxd, 'whole')).toContain('no helper');
  });

  it('that is brief, where a helper could not be read, says what a whole one says', async () => {
    const sandboxd = await inSources({ env: { CORRAL_PAYLOAD: join(folder, 'nowhere') } });
    expect(await outcome(sandboxd, 'brief')).toContain('no helper: there is no program');
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

  it('that is brief passes in an image without a shell, where a helper works', async () => {
    const sandboxd = await started(startSandboxdInBwrap(folder, { shell: false }));
    expect(await outcome(sandboxd, 'brief')).toBe('passed');
    expect(await sandboxd.link.identity(sandboxd.target, signal)).toMatchObject({ probed: true });
  });
});

const isFile = (word: string) => word.startsWith('/') && !word.endsWith('/lib');
