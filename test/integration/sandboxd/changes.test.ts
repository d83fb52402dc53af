import {
  mkdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
  existsSync,
  statSync,
  readdirSync,
} from 'node:fs';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, test } from 'vitest';
import { bodyOf } from '#src/grading/changes/changes.ts';
import { readListing } from '#src/grading/changes/read-listing.ts';
import { LinkError } from '#src/ports/sandbox-link.ts';
import type { ListingRequest } from '#src/protocol/sandboxd/wire.ts';
import { endOfTar, tarHeader, type TarEntry } from '#src/protocol/sandboxd/tar.ts';
import { aBind, policyUid, startSandboxd, type TestSandboxd } from '#test/support/sandboxd.ts';

const { signal } = new AbortController();

let sandboxd: TestSandboxd;
beforeEach(async () => {
  sandboxd = await startSandboxd();
  await sandboxd.link.bind(sandboxd.target, aBind(), signal);
});
afterEach(() => sandboxd.stop());

const at = (...names: readonly string[]) => join(sandboxd.workspace, ...names);
const bounds = { mostEntries: 1_000, mostBytes: 1_000_000 };

async function list(asked: Partial<ListingRequest> = {}) {
  const request = { below: ['.'], except: [], turn: null, homes: null, asRoot: false, ...bounds, ...asked };
  const { entries } = await readListing(await sandboxd.link.list(sandboxd.target, request, signal));
  const lines = await Array.fromAsync(entries);
  return lines.map((line) =>
    line.map((each, index) => (index === 1 ? String(each).replace(sandboxd.workspace, '') : each)),
  );
}

const kindsIn = async (asked: Partial<ListingRequest>) => (await list(asked)).map(([kind]) => kind);

async function troubleOf(asked: Promise<unknown>): Promise<unknown> {
  return asked.then(
    () => 'no error',
    (error: unknown) => (error instanceof LinkError ? error.trouble : error),
  );
}

const asPolicy = (script: string) =>
  execFileSync(
    'setpriv',
    [`--reuid=${policyUid}`, `--regid=${policyUid}`, '--clear-groups', 'sh', '-c', script],
    {
      cwd: sandboxd.workspace,
    },
  );

describe('a listing', () => {
  it('has each entry with what tells it from another, in the order of a walk', async () => {
    asPolicy(
      'umask 022; mkdir d; printf abc > d/x; printf "" > d-e; ln -s d/x l; mkfifo p; chmod 4711 d-e; printf s > shut; chmod 0 shut',
    );
    const sha256 = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad';
    const empty = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';
    expect(await list()).toEqual([
      ['root', '', 0o770],
      ['folder', '/d', 0o755],
      ['file', '/d/x', 0o644, 3, sha256],
      ['file', '/d-e', 0o4711, 0, empty],
      ['link', '/l', 'd/x'],
      ['other', '/p', 0o644],
      ['closed', '/shut', 0],
    ]);
  });

  it('reads what only root may read in a sandbox where no policy was, if the commands of the other are root', async () => {
    writeFileSync(at('roots'), 'x', { mode: 0o600 });
    expect(await kindsIn({})).toEqual(['root', 'closed']);
    expect(await kindsIn({ asRoot: true })).toEqual(['root', 'file']);
    expect(await kindsIn({ asRoot: true, turn: 1 })).toEqual(['root', 'closed']);
  });

  it('has a link whose target is no text as something else, because it cannot be written again', async () => {
    asPolicy('ln -s "$(printf "\\377")" link');
    expect(await list()).toEqual([
      ['root', '', 0o770],
      ['other', '/link', 0o777],
    ]);
  });

  it('passes over what is excepted, names that are no text, and what Python runs at every start', async () => {
    asPolicy('mkdir .git a; touch .git/x a/b.pyc a/sitecustomize.py a/ok; touch "$(printf "\\377")"');
    expect(await list({ except: ['.git', '*.pyc'] })).toSatisfy(
      (lines: readonly (readonly unknown[])[]) => lines.map(([, path]) => path).join(' ') === ' /a /a/ok',
    );
  });

  it.each([
    ['entries', { mostEntries: 3 }, 'for each in 1 2 3 4; do touch $each; done'],
    ['bytes', { mostBytes: 10 }, 'truncate -s 11 large'],
    ['bytes of a hole', { mostBytes: 2 ** 40 }, 'truncate -s 2T hole'],
  ])('with more %s than its bounds ends with EFBIG', async (_what, most, script) => {
    asPolicy(script);
    expect(await troubleOf(list(most))).toMatchObject({
      kind: 'refused',
      code: 'file_error',
      errno: 'EFBIG',
    });
  });

  it('of a folder that a policy took away, or made a link, is its own doing', async () => {
    asPolicy('mkdir sub; ln -s /etc link');
    expect(await troubleOf(list({ below: ['missing'] }))).toMatchObject({ errno: 'ENOENT' });
    expect(await troubleOf(list({ below: ['link'] }))).toMatchObject({ errno: 'ENOTDIR' });
    expect(await troubleOf(list({ below: ['/usr'] }))).toMatchObject({ code: 'invalid_request' });
  });

  it('of a turn ends all that the policy runs, and its calls; without a turn it ends nothing', async () => {
    const call = { digest: 'd', timeoutMs: 60_000, keepBytes: 1_024 } as const;
    const sleep = {
      ...call,
      action: { kind: 'exec', argv: ['sh', '-c', 'while :; do date > seen; done'] },
    } as const;
    await sandboxd.link.call(sandboxd.target, 'c1' as never, sleep, 0, signal);
    await expect.poll(() => existsSync(at('seen'))).toBe(true);
    await list();
    expect(await sandboxd.link.attach(sandboxd.target, 'c1' as never, 0, signal)).toBe('running');
    await list({ turn: 1 });
    expect(await sandboxd.link.attach(sandboxd.target, 'c1' as never, 5_000, signal)).not.toBe('running');
    expect(
      await troubleOf(sandboxd.link.call(sandboxd.target, 'c2' as never, sleep, 0, signal)),
    ).toMatchObject({ code: 'graded' });
  });
});

const send = (stream: AsyncIterable<Uint8Array>, except: readonly string[] = []) =>
  sandboxd.link.putChanges(sandboxd.target, { below: ['.'], except }, stream, signal);
const put = (changes: Parameters<typeof bodyOf>[0], except?: readonly string[]) =>
  send(bodyOf(changes), except);
const body = (...parts: readonly Uint8Array[]) =>
  new Blob([Buffer.from('{"removed":[]}\n'), ...parts].map((part) => new Uint8Array(part))).stream();

describe('changes', () => {
  const mode = 0o644;
  const file = (path: string, text = 'x') =>
    ({ kind: 'file', path, mode, mtimeS: 1_600_000_000, bytes: Buffer.from(text) }) as const;

  it('are removed first, then written, as files of the policy', async () => {
    asPolicy(
      'mkdir -p old/deep; touch old/deep/x; echo same > file; mkdir shut; touch shut/in; chmod 555 shut',
    );
    const nothing = { mtimeS: 0, bytes: Buffer.alloc(0) };
    await put({
      removed: [at('old'), at('shut/in')],
      written: [
        file(at('file'), 'changed'),
        { ...nothing, kind: 'folder', path: at('new'), mode: 0o555 },
        { ...file(at('new/run')), mode: 0o755 },
        { ...nothing, kind: 'link', path: at('new/link'), mode: 0o777, target: '../file' },
      ],
    });
    expect(readdirSync(sandboxd.workspace).toSorted()).toEqual(['file', 'new', 'shut']);
    expect(readFileSync(at('new/link'), 'utf8')).toBe('changed');
    expect(statSync(at('new/run'))).toMatchObject({ uid: policyUid, mode: 0o100755, mtimeMs: 1.6e12 });
    expect([statSync(at('new')).mode, statSync(at('shut')).mode].map((each) => each & 0o777)).toEqual([
      0o555, 0o555,
    ]);
    expect(readdirSync(at('shut'))).toEqual([]);
  });

  it.each([
    ['above the folders', () => file(join(sandboxd.folder, 'planted'))],
    ['by ..', () => file(`${sandboxd.workspace}/a/../../planted`)],
    ['the folder itself', () => file(sandboxd.workspace)],
    ['relative', () => file('planted')],
    ['through a link', () => file(at('link/planted'))],
    ['through a file', () => file(at('given/planted'))],
  ])('lead nowhere else: %s', async (_how, planted) => {
    symlinkSync(sandboxd.folder, at('link'));
    writeFileSync(at('given'), 'x');
    expect(await troubleOf(put({ removed: [], written: [planted()] }))).toMatchObject({ status: 422 });
    expect(await troubleOf(put({ removed: [planted().path], written: [] }))).toMatchObject({ status: 422 });
    expect(existsSync(join(sandboxd.folder, 'planted'))).toBe(false);
    expect(readFileSync(at('given'), 'utf8')).toBe('x');
  });

  const except = ['.git', '*.log', '/W/conf/grader.cfg'];
  const excepted = () => except.map((each) => each.replace('/W', sandboxd.workspace));

  it.each(['.git/config', 'deep/.git', 'a.log', 'sitecustomize.py', 'x.pth', 'conf/grader.cfg'])(
    'of what is left out are refused, whatever a listing said: %s',
    async (name) => {
      asPolicy(
        'mkdir -p .git deep conf; for each in .git/config deep/.git a.log x.pth; do echo old > $each; done',
      );
      asPolicy('echo old > sitecustomize.py; echo old > conf/grader.cfg');
      const refused = { status: 422, code: 'file_error', errno: 'EPERM' };
      expect(await troubleOf(put({ removed: [], written: [file(at(name))] }, excepted()))).toMatchObject(
        refused,
      );
      expect(await troubleOf(put({ removed: [at(name)], written: [] }, excepted()))).toMatchObject(refused);
      expect(readFileSync(at(name), 'utf8')).toBe('old\n');
    },
  );

  it('are put with as many and as long exceptions as an environment may have', async () => {
    const many = Array.from({ length: 64 }, (_, index) => `/${String(index).padEnd(511, '+')}`);
    await put({ removed: [], written: [file(at('given'))] }, many);
    expect(readFileSync(at('given'), 'utf8')).toBe('x');
  });

  it('take no excepted path away with its folder, and put no link in its way', async () => {
    asPolicy('mkdir -p conf old/.git; echo old > conf/grader.cfg; mkdir mine');
    const link = { ...file(at('conf'), ''), kind: 'link', target: 'mine' } as const;
    const refused = { errno: 'EPERM' };
    expect(await troubleOf(put({ removed: [at('conf')], written: [] }, excepted()))).toMatchObject(refused);
    expect(readFileSync(at('conf/grader.cfg'), 'utf8')).toBe('old\n');
    asPolicy('rm -r conf');
    expect(await troubleOf(put({ removed: [], written: [link] }, excepted()))).toMatchObject(refused);
    await put({ removed: [at('old')], written: [] }, excepted());
    expect(existsSync(at('old'))).toBe(false);
  });

  test('that remove a link leave what it names', async () => {
    mkdirSync(join(sandboxd.folder, 'kept'));
    symlinkSync(join(sandboxd.folder, 'kept'), at('link'));
    await put({ removed: [at('link')], written: [] });
    expect([existsSync(join(sandboxd.folder, 'kept')), existsSync(at('link'))]).toEqual([true, false]);
  });

  test('with a hard link, or cut off, are refused', async () => {
    const link: TarEntry = {
      path: at('hard'),
      kind: 'hard_link',
      mode,
      mtimeS: 0,
      bytes: 0,
      target: at('given'),
    };
    expect(await troubleOf(send(body(tarHeader(link), endOfTar)))).toMatchObject({ errno: 'EBADMSG' });
    expect(await troubleOf(send(body(endOfTar.subarray(0, 100))))).toMatchObject({ errno: 'EBADMSG' });
  });
});

const contentsOf = (path: string) =>
  sandboxd.link.contents(sandboxd.target, { turn: 1, files: [{ path: at(path), bytes: 3 }] }, signal);

test('contents are of the files that were listed; one that cannot be read is refused before the first byte', async () => {
  asPolicy('printf abc > a; printf d > shut; chmod 0 shut; mkfifo pipe');
  await list({ turn: 1 });
  const bytes = Buffer.concat(await Array.fromAsync(await contentsOf('a')));
  expect(bytes.toString('latin1', 512, 515)).toBe('abc');
  for (const [path, errno] of [
    ['shut', 'EACCES'],
    ['pipe', 'EINVAL'],
    ['gone', 'ENOENT'],
  ] as const)
    expect(await troubleOf(contentsOf(path))).toMatchObject({
      errno,
    });
});
