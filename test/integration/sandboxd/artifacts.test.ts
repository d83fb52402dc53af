import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readProcessTable, readUid } from '#services/sandboxd/processes/process-table.ts';
import { callId } from '#src/model/ids.ts';
import { LinkError } from '#src/ports/sandbox-link.ts';
import { readTar } from '#src/protocol/sandboxd/tar.ts';
import type { ArtifactsRequest } from '#src/protocol/sandboxd/wire.ts';
import { aBind, aShellCall, policyUid, startSandboxd, type TestSandboxd } from '#test/support/sandboxd.ts';

const { signal } = new AbortController();

/** All of it before the first is taken: after that the sandbox takes no more calls. */
const left = `
mkdir -p plain/sub links closed/sub many names folders deep large
printf 'of the policy' > plain/a.txt; printf '#!/bin/sh' > plain/sub/run.sh; chmod 4711 plain/sub/run.sh; printf x > plain/b.bin
ln plain/a.txt plain/same.txt
ln -s /etc/passwd links/passwd; ln -s ../plain links/folder; ln -s . links/self; mkfifo links/pipe; printf kept > links/kept
ln -s plain linked; mkfifo pipe; printf secret > secret; chmod 000 secret
printf x > closed/sub/file; chmod 000 closed/sub
touch $(seq -f many/%g 11); touch "names/$(printf '%0200d' 0)"; mkdir $(seq -f folders/%g 11)
truncate -s 1T hole; head -c 30000000 /dev/zero > large/zeros
(cd deep; for each in $(seq 600); do mkdir 0123456789 && cd 0123456789 || exit; done; touch end)
(setsid sh -c 'trap "" TERM HUP; while :; do echo late >> plain/a.txt; sleep 0.01; done' >/dev/null 2>&1 &)
sleep 1; printf 'of the policy' > plain/a.txt`;

let sandboxd: TestSandboxd;
let before = 0;
beforeAll(async () => {
  sandboxd = await startSandboxd();
  await sandboxd.link.bind(sandboxd.target, aBind(), signal);
  const { link, target } = sandboxd;
  const answer = await link.call(
    target,
    callId('leaves'),
    aShellCall(left, { timeoutMs: 60_000 }),
    60_000,
    signal,
  );
  expect(answer).toMatchObject({ ending: { kind: 'exited', exitCode: 0 } });
  before = ofPolicy().length;
});
afterAll(async () => {
  // Deeper than a path may name.
  execFileSync('rm', ['-rf', join(sandboxd.workspace, 'deep')]);
  await sandboxd.stop();
});

const ofPolicy = () => readProcessTable().filter(({ pid }) => readUid(pid) === policyUid);

const take = (paths: readonly string[], { turn = 1, mostBytes = 1_000, mostFiles = 10 } = {}) => {
  const request: ArtifactsRequest = { turn, paths, mostBytes, mostFiles };
  return sandboxd.link.takeArtifacts(sandboxd.target, request, signal);
};

async function filesIn(tar: Promise<AsyncIterable<Uint8Array>>) {
  const files: Record<string, string> = {};
  for await (const { kind, path, mode, content } of readTar(await tar))
    files[path] = `${kind} ${mode.toString(8)} ${Buffer.concat(await Array.fromAsync(content)).toString()}`;
  return files;
}

async function refusal(asked: Promise<unknown>): Promise<unknown> {
  const thrown: unknown = await asked.then(
    () => 'it was answered',
    (error: unknown) => error,
  );
  if (!(thrown instanceof LinkError) || thrown.trouble.kind !== 'refused') return thrown;
  return [thrown.trouble.code, thrown.trouble.errno];
}

describe('what is taken for a grader elsewhere', () => {
  it('is what lies there when nothing of the policy lives any more, whatever it did to stay', async () => {
    expect(before).toBeGreaterThan(0);
    const files = await filesIn(take(['plain/a.txt'], { mostBytes: 1_000_000 }));
    expect(ofPolicy()).toEqual([]);
    expect(files['plain/a.txt']).toMatch(/^file 644 of the policy(late\n)*$/);
    expect(await filesIn(take(['plain/a.txt'], { mostBytes: 1_000_000 }))).toEqual(files);
  });

  it('ends the calls of that sandbox: nothing of the policy starts after it', async () => {
    const { link, target } = sandboxd;
    const called = link.call(target, callId('after'), aShellCall('true'), 10_000, signal);
    expect(await refusal(called)).toEqual(['graded', undefined]);
    const put = link.putFile(
      target,
      { path: 'plain/a.txt', user: 'policy', form: 'file' },
      new Blob(['x']).stream(),
      signal,
    );
    expect(await refusal(put)).toEqual(['graded', undefined]);
  });

  it('are regular files by pattern, by name and below a folder, each once, without the bits that make a user', async () => {
    const files = await filesIn(
      take(['plain/sub/', '*/b.bin', 'plain/sub/run.sh', 'nothing/*.txt', 'n*e/x']),
    );
    expect(files).toEqual({ 'plain/sub/run.sh': 'file 755 #!/bin/sh', 'plain/b.bin': 'file 644 x' });
  });

  it('are none of the links, pipes and loops among them', async () => {
    expect(await filesIn(take(['links/']))).toEqual({ 'links/kept': 'file 644 kept' });
    expect(await filesIn(take(['*/passwd', 'l*d/a.txt', 'p*pe']))).toEqual({});
  });

  it.each([
    ['what is not there', ['missing'], 'ENOENT'],
    ['a link in a file’s place', ['links/passwd'], 'EINVAL'],
    ['a link on the way', ['linked/a.txt'], 'EINVAL'],
    ['a pipe', ['pipe'], 'EINVAL'],
    ['what the kernel makes up', ['/proc/version'], 'ENODEV'],
    ['a folder of the kernel’s making', ['/sys/kernel/'], 'ENODEV'],
    ['a file where a folder is named', ['plain/b.bin/'], 'EINVAL'],
    ['what the policy itself cannot read', ['secret'], 'EACCES'],
    ['a folder that is closed', ['closed/'], 'EACCES'],
    ['folders deeper than a path may name', ['deep/'], 'ENAMETOOLONG'],
    ['a hole of many bytes', ['hole'], 'EFBIG'],
    ['one file too many', ['many/'], 'EFBIG'],
    ['one folder too many, all of them empty', ['folders/'], 'EFBIG'],
  ])('is nothing of %s, which is told before the first byte', async (_what, paths, errno) => {
    expect(
      await refusal(take(paths, { mostBytes: 100_000, mostFiles: errno === 'ENAMETOOLONG' ? 1_000 : 10 })),
    ).toEqual(['file_error', errno]);
  });

  it('has no more bytes than may be, and names are bytes as well', async () => {
    const bytes = 'names/'.length + 200;
    expect(Object.keys(await filesIn(take(['names/'], { mostBytes: bytes })))).toHaveLength(1);
    expect(await refusal(take(['names/'], { mostBytes: bytes - 1 }))).toEqual(['file_error', 'EFBIG']);
  });

  it('is for the latest turn: one that was given up gets nothing', async () => {
    expect(await filesIn(take(['plain/b.bin'], { turn: 2 }))).toEqual({ 'plain/b.bin': 'file 644 x' });
    expect(await refusal(take(['plain/b.bin'], { turn: 1 }))).toEqual(['graded', undefined]);
  });
});

it('are not taken after the machine killed something for memory since the last call', async () => {
  const account = join(mkdtempSync(join(tmpdir(), 'corral-account-')), 'memory.events');
  writeFileSync(account, 'oom 0\noom_kill 0\n');
  const started = await startSandboxd({ env: { CORRAL_CGROUP_EVENTS: account } });
  const { link, target } = started;
  try {
    await link.bind(target, aBind(), signal);
    await link.call(target, callId('leaves'), aShellCall('echo half > answer'), 60_000, signal);
    writeFileSync(account, 'oom 0\noom_kill 1\n');
    const request = { turn: 1, paths: ['answer'], mostBytes: 1_000, mostFiles: 10 };
    expect(await refusal(link.takeArtifacts(target, request, signal))).toEqual(['file_error', 'LOST']);
  } finally {
    await started.stop();
    rmSync(dirname(account), { recursive: true });
  }
});
