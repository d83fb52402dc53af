import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { callId } from '#src/model/ids.ts';
import { LinkError } from '#src/ports/sandbox-link.ts';
import type { CallRequest } from '#src/protocol/sandboxd/wire.ts';
import { aBind, startSandboxd, type TestSandboxd } from '#test/support/sandboxd.ts';

const { signal } = new AbortController();

let sandboxd: TestSandboxd;
beforeEach(async () => {
  sandboxd = await startSandboxd();
  await sandboxd.link.bind(sandboxd.target, aBind(), signal);
});
afterEach(() => sandboxd.stop());

const aTool = (path: string): CallRequest => ({
  digest: path,
  action: { kind: 'builtin', tool: 'list_files', arguments: { path } },
  timeoutMs: 10_000,
  keepBytes: 4_096,
});

const ask = (path: string) => {
  const { link, target } = sandboxd;
  return link.call(target, callId(`list ${path}`), aTool(path), 10_000, signal);
};

/** In the mount namespace of sandboxd: a folder of its payload without a file that was there at its start. */
function takeAway(folder: string, file: string): void {
  const script = 'copy=$(mktemp -d) && cp -a "$0/." "$copy" && rm "$copy/$1" && mount --bind "$copy" "$0"';
  const at = `${sandboxd.folder}/payload/${folder}`;
  execFileSync('nsenter', [
    '--target',
    String(sandboxd.process.pid),
    '--mount',
    '--',
    'sh',
    '-c',
    script,
    at,
    file,
  ]);
}

it('a built-in tool that fails by its arguments has an answer', async () => {
  expect(await ask('/nowhere')).toMatchObject({ ending: { kind: 'exited', exitCode: 1 } });
});

it.each([
  ['its code', 'sandboxd', 'helper.cjs'],
  ['the loader of its program', 'lib', 'ld.so'],
])('a built-in tool without %s has no answer: the sandbox ends', async (_what, folder, file) => {
  const ended = once(sandboxd.process, 'exit');
  takeAway(folder, file);
  await expect(ask('/')).rejects.toThrow(LinkError);
  expect(await ended).toEqual([1, null]);
});
