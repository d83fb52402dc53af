import {
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callId } from '#src/model/ids.ts';
import { LinkError } from '#src/ports/sandbox-link.ts';
import type { BuiltinName, CallAnswer, CallRequest, CommandUser } from '#src/protocol/sandboxd/wire.ts';
import { aBind, graderUid, policyUid, startSandboxd, type TestSandboxd } from '#test/support/sandboxd.ts';

const { signal } = new AbortController();

let sandboxd: TestSandboxd;
beforeAll(async () => {
  sandboxd = await startSandboxd();
  await sandboxd.link.bind(sandboxd.target, aBind(), signal);
});
afterAll(() => sandboxd.stop());

function put(path: string, chunks: readonly Uint8Array[], user: CommandUser = 'policy') {
  async function* body() {
    yield* chunks;
  }
  return sandboxd.link.putFile(sandboxd.target, { path, user, form: 'file' }, body(), signal);
}

async function get(path: string, user: CommandUser = 'policy'): Promise<Buffer> {
  const from = { path, user, form: 'file', mostBytes: 10_000_000 } as const;
  return Buffer.concat(await Array.fromAsync(await sandboxd.link.getFile(sandboxd.target, from, signal)));
}

async function errnoOf(asked: Promise<unknown>): Promise<unknown> {
  return asked.then(
    () => 'no error',
    (error: unknown) =>
      error instanceof LinkError && error.trouble.kind === 'refused' ? error.trouble.errno : error,
  );
}

describe('files in and out', () => {
  it('come back byte by byte, with the folders above them, as files of the policy', async () => {
    const chunks = Array.from({ length: 40 }, (_, index) => Buffer.alloc(70_000, index));
    expect(await put('deep/er/file.bin', chunks)).toEqual({ bytes: 2_800_000 });
    expect((await get('deep/er/file.bin')).equals(Buffer.concat(chunks))).toBe(true);
    expect(statSync(join(sandboxd.workspace, 'deep/er/file.bin')).uid).toBe(policyUid);
    expect(readdirSync(join(sandboxd.workspace, 'deep/er'))).toEqual(['file.bin']);
  });

  it('may be empty', async () => {
    expect(await put('empty', [])).toEqual({ bytes: 0 });
    expect(await get('empty')).toHaveLength(0);
  });

  it('of the grader lie in its own folder and cannot be read by the policy', async () => {
    const path = join(sandboxd.folder, 'grader/own/graders/truth.json');
    expect(await errnoOf(put('graders/truth.json', [Buffer.from('{}')], 'grader'))).toBe('no error');
    expect(statSync(path)).toMatchObject({ uid: graderUid });
    expect(await errnoOf(get(path))).toBe('EACCES');
    expect((await get('graders/truth.json', 'grader')).toString()).toBe('{}');
  });

  it('fail as they would for their user: missing, a folder, a named pipe, not allowed', async () => {
    mkdirSync(join(sandboxd.workspace, 'folder'));
    expect(await errnoOf(get('missing'))).toBe('ENOENT');
    expect(await errnoOf(get('folder'))).toBe('EISDIR');
    expect(await errnoOf(put('folder', [Buffer.from('x')]))).toBe('EISDIR');
    expect(await errnoOf(get('/dev/zero'))).toBe('EINVAL');
    expect(await errnoOf(put('/etc/corral', [Buffer.alloc(3_000_000)]))).toBe('EACCES');
  });

  it('never reach sandboxd itself through a link', async () => {
    symlinkSync(`/proc/${sandboxd.process.pid}/environ`, join(sandboxd.workspace, 'link'));
    expect(await errnoOf(get('link'))).toBe('EACCES');
    expect((await tool('read_file', { path: 'link' })).stderr.head).toBe('Error: permission denied: link\n');
  });

  it('follow links as open() does, but a grader’s file never follows a link of the policy', async () => {
    const made = ['ln -s deep/er/target to-new', 'ln -s /nowhere/at/all dangling', 'ln -s loop loop'];
    await shell(`mkdir -p deep/er; ${made.join('; ')}; ln -s to-new chain`);
    expect(await errnoOf(put('chain', [Buffer.from('first')]))).toBe('no error');
    expect(await errnoOf(put('to-new', [Buffer.from('second')]))).toBe('no error');
    expect((await get('deep/er/target')).toString()).toBe('second');
    expect(readlinkSync(join(sandboxd.workspace, 'to-new'))).toBe('deep/er/target');
    expect(await errnoOf(put('dangling', [Buffer.from('x')]))).toBe('ENOENT');
    expect(await errnoOf(put('loop', [Buffer.from('x')]))).toBe('ELOOP');
    await shell('mkdir open; chmod 777 open; ln -s ../deep/er/target open/answer');
    const seen = join(sandboxd.workspace, 'open/answer');
    await errnoOf(put(seen, [Buffer.from('of the grader')], 'grader'));
    expect((await get('deep/er/target')).toString()).toBe('second');
  });

  it('are written where they are if they have other names, or their folder is closed', async () => {
    await shell('echo old > one; ln one other; mkdir shut; echo old > shut/file; chmod 555 shut');
    expect(await errnoOf(put('one', [Buffer.from('new')]))).toBe('no error');
    expect((await get('other')).toString()).toBe('new');
    expect(await errnoOf(put('shut/file', [Buffer.from('n'.repeat(100_000)), Buffer.from('w')]))).toBe(
      'no error',
    );
    expect(await get('shut/file')).toHaveLength(100_001);
    expect(await errnoOf(put('shut/another', [Buffer.from('x')]))).toBe('EACCES');
    expect(readdirSync(join(sandboxd.workspace, 'shut'))).toEqual(['file']);
  });

  it('of the grader never become content of a file of the policy', async () => {
    await shell('mkdir ours; chmod 777 ours; echo mine > ours/truth; ln ours/truth ours/again');
    const path = join(sandboxd.workspace, 'ours/truth');
    await errnoOf(put(path, [Buffer.from('the answer')], 'grader'));
    expect((await get('ours/again')).toString()).toBe('mine\n');
  });

  it.each([250, 254, 255])('may have a name of %i bytes', async (bytes) => {
    const name = 'n'.repeat(bytes);
    expect(await put(name, [Buffer.from('x')])).toEqual({ bytes: 1 });
    expect((await get(name)).toString()).toBe('x');
  });

  it('leave nothing when the upload breaks off', async () => {
    const started = request({
      socketPath: `${sandboxd.folder}/d.sock`,
      method: 'PUT',
      path: '/files?path=broken/upload',
      headers: {
        authorization: `Bearer ${sandboxd.token}`,
        'x-corral-sandbox': sandboxd.target.sandbox,
        'x-corral-boot': sandboxd.target.boot ?? '',
      },
    });
    started.on('error', () => {});
    started.write(Buffer.alloc(100_000));
    const folder = join(sandboxd.workspace, 'broken');
    await expect.poll(() => namesIn(folder)).toEqual([expect.stringMatching(/^\.\d+\.part$/)]);
    started.destroy();
    await expect.poll(() => namesIn(folder)).toEqual([]);
  });
});

function namesIn(folder: string): readonly string[] | null {
  try {
    return readdirSync(folder);
  } catch {
    return null;
  }
}

let calls = 0;
const tool = (name: BuiltinName, values: Readonly<Record<string, string | number | boolean>>) =>
  act({ kind: 'builtin', tool: name, arguments: values });
const shell = (script: string) => act({ kind: 'exec', argv: ['sh', '-c', script] });

async function act(action: CallRequest['action']): Promise<CallAnswer> {
  const call = { digest: 'd', action, timeoutMs: 10_000, keepBytes: 65_536 };
  const answer = await sandboxd.link.call(
    sandboxd.target,
    callId(`tool-${(calls += 1)}`),
    call,
    20_000,
    signal,
  );
  if (answer === 'running') throw new Error('it still runs');
  return answer;
}
const said = async (asked: Promise<CallAnswer>) => {
  const { ending, stdout, stderr } = await asked;
  return ending.kind === 'exited' && ending.exitCode === 0 ? stdout.head : stderr.head;
};

describe('built-in tools', () => {
  it('write and read text, whole or by lines', async () => {
    expect(await said(tool('write_file', { path: 'src/a.txt', content: 'one\ntwo\nthrée\n' }))).toBe(
      'wrote 15 bytes to src/a.txt\n',
    );
    expect(await said(tool('read_file', { path: 'src/a.txt' }))).toBe('one\ntwo\nthrée\n');
    expect(await said(tool('read_file', { path: 'src/a.txt', start_line: 2, end_line: 2 }))).toBe('two\n');
    expect(await said(tool('read_file', { path: 'src/a.txt', start_line: 3 }))).toBe('thrée\n');
  });

  it('tell the model what it did wrong as an error of exit code 1', async () => {
    const missing = await tool('read_file', { path: 'nowhere' });
    expect(missing.ending).toEqual({ kind: 'exited', exitCode: 1 });
    expect(missing.stderr.head).toBe('Error: no such file or folder: nowhere\n');
    expect(await said(tool('read_file', {}))).toBe('Error: path is missing\n');
    expect(await said(tool('read_file', { path: 'src' }))).toMatch(/^Error: it is a folder/);
    expect(await said(tool('read_file', { path: 'src/a.txt', start_line: 9 }))).toBe(
      'Error: src/a.txt ends before line 9\n',
    );
    expect(await said(tool('search', { query: '(', regex: true }))).toMatch(/^Error: query is not a regular/);
    expect(await said(tool('write_file', { path: '/etc/x', content: '' }))).toMatch(
      /^Error: permission denied/,
    );
  });

  it('list sorted, folders marked, as deep as asked', async () => {
    await tool('write_file', { path: 'tree/b/c.txt', content: '' });
    await tool('write_file', { path: 'tree/a.txt', content: '' });
    expect(await said(tool('list_files', { path: 'tree' }))).toBe('tree/a.txt\ntree/b/\n');
    expect(await said(tool('list_files', { path: 'tree', depth: 2 }))).toBe(
      'tree/a.txt\ntree/b/\ntree/b/c.txt\n',
    );
  });

  it('search text and patterns, in chosen files, past binaries', async () => {
    await tool('write_file', { path: 'code/a.ts', content: 'let x = 1;\nlet needle = 2;\n' });
    await tool('write_file', { path: 'code/deep/b.md', content: 'a needle\n' });
    writeFileSync(join(sandboxd.workspace, 'code/c.bin'), Buffer.from('needle\0'));
    const where = { path: 'code' };
    expect(await said(tool('search', { ...where, query: 'needle' }))).toBe(
      'code/a.ts:2: let needle = 2;\ncode/deep/b.md:1: a needle\n',
    );
    expect(await said(tool('search', { ...where, query: '^a n', regex: true, glob: '*.md' }))).toBe(
      'code/deep/b.md:1: a needle\n',
    );
    expect(await said(tool('search', { ...where, query: 'absent' }))).toBe('no matches\n');
  });

  it('name what a search left out, because a match could be there', async () => {
    const folder = join(sandboxd.workspace, 'left-out');
    mkdirSync(folder);
    writeFileSync(join(folder, 'large.txt'), '');
    truncateSync(join(folder, 'large.txt'), 8 * 1024 * 1024 + 1);
    for (let count = 1; count <= 7; count += 1)
      writeFileSync(join(folder, `closed-${count}`), '', { mode: 0o000 });
    const closed = [1, 2, 3, 4, 5].map((count) => `left-out/closed-${count}`).join(', ');
    expect(await said(tool('search', { path: 'left-out', query: 'needle' }))).toBe(
      `no matches\n[not searched, larger than 8 MiB: left-out/large.txt]\n[not searched, not readable: ${closed} and 2 more]\n`,
    );
  });

  it('cut a long file like any output', async () => {
    writeFileSync(join(sandboxd.workspace, 'long.txt'), 'x'.repeat(300_000));
    const { stdout } = await tool('read_file', { path: 'long.txt' });
    expect(stdout).toMatchObject({ totalBytes: 300_000, cutBytes: 300_000 - 65_536 });
    expect(readFileSync(join(sandboxd.workspace, 'long.txt'))).toHaveLength(300_000);
  });
});
