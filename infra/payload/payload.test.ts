import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { payloadLayout, sandboxdArgv } from '#src/protocol/sandboxd/payload-layout.ts';
import { buildPayload } from './payload.ts';
import { parseLdd } from './runtime.ts';

describe('buildPayload', () => {
  let target: string;
  beforeAll(async () => void (target = await mkdtemp(join(tmpdir(), 'corral-payload-'))));
  afterAll(() => rm(target, { recursive: true, force: true }));

  it('gives two builders at once the same folder and leaves nothing half-built', async () => {
    const [one, other] = await Promise.all([buildPayload(target), buildPayload(target)]);
    expect(other).toEqual(one);
    expect(await readdir(target)).toEqual([`payload-${one.key}`]);
    expect((await readdir(one.dir)).toSorted()).toEqual(['lib', 'node', 'sandboxd']);
    expect((await stat(join(one.dir, payloadLayout.enter))).mode & 0o777).toBe(0o755);
  });
});

it('starts the payload through its own loader, so that the root needs none', () => {
  const argv = sandboxdArgv('/opt/corral');
  const loader = ['/opt/corral/lib/ld.so', '--library-path', '/opt/corral/lib', '/opt/corral/node'];
  expect(argv.slice(0, 4)).toEqual(loader);
  expect(argv.at(-1)).toBe('/opt/corral/sandboxd/main.cjs');
});

it('finds libraries and loader in what ldd prints, and not what the kernel provides', () => {
  const output = [
    '\tlinux-vdso.so.1 (0x00007ffd)',
    '\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f00)',
    '\t/lib64/ld-linux-x86-64.so.2 (0x00007f01)',
  ].join('\n');
  expect(parseLdd(output)).toEqual(['/lib/x86_64-linux-gnu/libc.so.6', '/lib64/ld-linux-x86-64.so.2']);
});
