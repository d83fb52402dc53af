import { mkdir, rm, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { BuiltFolder } from '#src/model/environment.ts';
import { environmentFolder, mistakesOf } from '#test/support/environment-folder.ts';
import { chooseTemplate } from '../choose-template.ts';
import { FilesRead } from '../files-read.ts';
import { loadEnvironments } from '../load-environments.ts';
import { compilePolicy } from '../policy.ts';

const yaml = (data: string, image = 'host') => `
name: plain
sandbox: { image: "${image}", data: [${data}] }
tools: { shell: { builtin: shell } }
grader: { kind: text, reference: item.answer }
`;
const index = '{ build: [node, make.mjs], inputs: [make.mjs, corpus], target: /data/index }';
const files = { 'make.mjs': 'make', 'corpus/a.txt': 'a', 'corpus/b/c.txt': 'c' };

async function load(path: string, policy = compilePolicy({}), read = new FilesRead()) {
  const environment = (await loadEnvironments(path, { policy, files: read })).all()[0];
  if (environment === undefined) throw new Error('nothing was loaded');
  const { template } = chooseTemplate(environment, null);
  return { environment, template, built: template.data[0] as BuiltFolder };
}

const mistakes = async (data: string, image?: string) => {
  await using folder = await environmentFolder({ 'a.yaml': yaml(data, image), ...files });
  return await mistakesOf(folder.path, loadEnvironments(folder.path));
};

describe('data that a program makes', () => {
  test('is told by its command, the places of its inputs and a digest', async () => {
    await using folder = await environmentFolder({ 'a.yaml': yaml(index), ...files });
    const { built } = await load(folder.path);
    expect(built).toEqual({
      build: {
        argv: ['node', 'make.mjs'],
        inputs: [join(folder.path, 'make.mjs'), join(folder.path, 'corpus')],
        timeoutMs: 600_000,
        digest: expect.stringMatching(/^[0-9a-f]{64}$/),
      },
      target: '/data/index',
    });
  });

  test.each<[string, (path: string) => Promise<unknown>]>([
    ['what an input says', (path) => writeFile(join(path, 'corpus/b/c.txt'), 'd')],
    ['a name in an input', (path) => writeFile(join(path, 'corpus/new'), '')],
    ['a file that is gone', (path) => rm(join(path, 'corpus/a.txt'))],
    [
      'whether an input can be run',
      (path) =>
        rm(join(path, 'make.mjs')).then(() => writeFile(join(path, 'make.mjs'), 'make', { mode: 0o755 })),
    ],
    ['an empty folder in an input', (path) => mkdir(join(path, 'corpus/empty'))],
    [
      'the command',
      (path) => writeFile(join(path, 'a.yaml'), yaml(index.replace('make.mjs]', 'make.mjs, x]'))),
    ],
  ])('is another, in another template and version, after a change of %s', async (_, change) => {
    await using folder = await environmentFolder({ 'a.yaml': yaml(index), ...files });
    const read = new FilesRead();
    const before = await load(folder.path, compilePolicy({}), read);
    expect(await read.unchanged()).toBe(true);
    await change(folder.path);
    expect(await read.unchanged()).toBe(false);
    const after = await load(folder.path);
    expect(after.built.build.digest).not.toBe(before.built.build.digest);
    expect(after.template.digest).not.toBe(before.template.digest);
    expect(after.environment.version).not.toBe(before.environment.version);
  });

  test('is the same wherever its inputs lie and whenever they were written, and so is the version', async () => {
    await using one = await environmentFolder({ 'a.yaml': yaml(index), ...files });
    await using other = await environmentFolder({ 'a.yaml': yaml(index), ...files });
    await utimes(join(other.path, 'corpus/a.txt'), 1, 1);
    const [first, second] = [await load(one.path), await load(other.path)];
    expect(second.built.build.digest).toBe(first.built.build.digest);
    expect(second.environment.version).toBe(first.environment.version);
  });

  test.each([
    ['has no source beside it', '{ build: [x], source: corpus, target: /d }', 'must have either a source'],
    ['is not nothing', '{ target: /d }', 'must have either a source'],
    [
      'has inputs that are there',
      '{ build: [x], inputs: [nope], target: /d }',
      'names nope, which is not there',
    ],
    [
      'has inputs of different names',
      '{ build: [x], inputs: [corpus/a.txt, ./corpus/../corpus/a.txt], target: /d }',
      'is called a.txt',
    ],
    ['may not take for ever', '{ build: [x], timeout: 2h, target: /d }', 'must be at most 1h'],
    ['alone has inputs', '{ source: corpus, inputs: [corpus], target: /d }', 'belongs to a build'],
  ])('%s', async (_, data, said) => {
    expect(await mistakes(data)).toEqual([expect.stringContaining(said)]);
  });

  test('reads no folder that the operator does not allow', async () => {
    await using folder = await environmentFolder({ 'a.yaml': yaml(index), ...files });
    const policy = compilePolicy({ data: [`${folder.path}/corpus`] });
    expect(await mistakesOf(folder.path, load(folder.path, policy))).toEqual([
      expect.stringMatching(
        /^a\.yaml:3 sandbox\.data\.0\.inputs\.0 is .*make\.mjs, and the operator allows: .*corpus$/,
      ),
    ]);
  });
});

describe('data of an image', () => {
  const both = index.replace('target', 'image: "registry.example.com/data/index:1", target');

  test('is what a cluster takes, where the inputs need not be; a machine builds', async () => {
    await using cluster = await environmentFolder({ 'a.yaml': yaml(both, 'alpine') });
    const { template } = await load(cluster.path);
    expect(template.data).toEqual([{ image: 'registry.example.com/data/index:1', target: '/data/index' }]);
    await using machine = await environmentFolder({ 'a.yaml': yaml(both), ...files });
    expect((await load(machine.path)).built.build.argv).toEqual(['node', 'make.mjs']);
  });

  test('is held to the operator’s images', async () => {
    await using folder = await environmentFolder({ 'a.yaml': yaml(both, 'alpine') });
    const policy = compilePolicy({ images: ['alpine'] });
    expect(await mistakesOf(folder.path, load(folder.path, policy))).toEqual([
      expect.stringContaining('sandbox.data.0.image is registry.example.com/data/index:1'),
    ]);
  });

  test('is not there on one machine', async () => {
    const ofRoot = yaml('{ image: baked, target: /d }', 'a:1').replace(
      'sandbox: {',
      'sandbox: { run_as: root,',
    );
    await using rooted = await environmentFolder({ 'a.yaml': ofRoot });
    expect(await mistakesOf(rooted.path, loadEnvironments(rooted.path))).toEqual([
      expect.stringContaining('commands that are root can write'),
    ]);
    expect(await mistakes('{ image: "a:1", target: /d }')).toEqual([
      expect.stringContaining('must have either'),
    ]);
  });
});
