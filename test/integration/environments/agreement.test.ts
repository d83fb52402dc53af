import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { connectFleetState, type FleetState } from '#src/adapters/redis/fleet-state.ts';
import { AgreedEnvironments } from '#src/environments/agreed-environments.ts';
import { WatchedFolder } from '#src/environments/watched-folder.ts';
import { environmentName } from '#src/model/ids.ts';
import { createFakeLog } from '#test/fakes/log.ts';
import { environmentFolder } from '#test/support/environment-folder.ts';
import { type PrivateRedis, startRedis } from '#test/support/redis.ts';

let redis: PrivateRedis;
let state: FleetState;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());
beforeEach(async () => {
  await redis.restart('nothing');
  state = await connectFleetState({
    url: redis.socket,
    fleet: 'test',
    commandTimeoutMs: 2_000,
    onTrouble: () => undefined,
  });
  await state.adoptRedis('empty');
});
afterEach(() => state.close());

const environment = (description: string, { name = 'shell', max = 8, memory = '64Mi' } = {}) => `
name: ${name}
description: ${description}
sandbox: { image: host, memory: ${memory} }
tools: { shell: { builtin: shell } }
grader: { kind: text, reference: item.answer }
pool: { min_ready: 0, max: ${max} }
`;

type Files = Readonly<Record<string, string>>;

/** A process with a folder of its own, which says and hears only when it is told to. */
async function startProcess(
  holder: string,
  files: Files,
  { policy = null, serves = true }: { readonly policy?: string | null; readonly serves?: boolean } = {},
) {
  const folder = await environmentFolder(files);
  const policies = await environmentFolder(policy === null ? {} : { 'policy.yaml': policy });
  const log = createFakeLog();
  const agreed = new AgreedEnvironments({
    folder: await WatchedFolder.open(
      folder.path,
      policy === null ? null : join(policies.path, 'policy.yaml'),
    ),
    catalogs: state.catalogs,
    published: state.environments,
    holder,
    log,
  });
  const step = () => agreed.step();
  await (serves ? step() : agreed.agree());
  return {
    agreed,
    log,
    step,
    description: (name = 'shell') => agreed.newest(environmentName(name))?.description,
    /** The folder changes, and the process has noticed. */
    write: async (name: string, text: string | null) => {
      const file = join(folder.path, name);
      await (text === null ? rm(file) : writeFile(file, text));
      await step();
      await step();
    },
    [Symbol.asyncDispose]: async () => {
      await folder[Symbol.asyncDispose]();
      await policies[Symbol.asyncDispose]();
    },
  };
}

const one = { 'shell.yaml': environment('one') };

test('a change that reaches one process first is in force at the other after its next step', async () => {
  await using a = await startProcess('a', one);
  await using b = await startProcess('b', one);
  await a.write('shell.yaml', environment('two'));
  expect([a.description(), b.description()]).toEqual(['two', 'one']);
  await b.step();
  expect(b.description()).toBe('two');
  expect(b.agreed.inForce()).toMatchObject({ from: 'another process', trouble: null });
  expect(b.agreed.inForce().digest).toBe(a.agreed.inForce().digest);
  await b.write('shell.yaml', environment('two'));
  expect(b.agreed.inForce().from).toBe('own folder');
});

test('an old process that is started again during an upgrade takes the new environments before it serves', async () => {
  await using old = await startProcess('old', one);
  await using recent = await startProcess('recent', { 'shell.yaml': environment('two') });
  await using again = await startProcess('again', one);
  for (const each of [old, recent, again]) await each.step();
  expect([old, recent, again].map((each) => each.description())).toEqual(['two', 'two', 'two']);
});

test('a process that does not serve yet goes by what the fleet has, and its own folder counts for nobody', async () => {
  await using a = await startProcess('a', one);
  await using starting = await startProcess(
    'starting',
    { 'shell.yaml': environment('two') },
    { serves: false },
  );
  await a.step();
  expect([a.description(), starting.description()]).toEqual(['one', 'one']);
  await starting.step();
  expect(starting.description()).toBe('two');
});

test('a rollback is in force when the last new process says that it leaves', async () => {
  await using old = await startProcess('old', one);
  await using recent = await startProcess('recent', { 'shell.yaml': environment('two') });
  await old.step();
  expect(old.description()).toBe('two');
  await recent.agreed.leave();
  await old.step();
  expect(old.description()).toBe('one');
  await recent.step();
  expect(recent.description()).toBe('one');
});

test('an environment that was removed is gone everywhere, and one that is new is everywhere', async () => {
  const both = { ...one, 'other.yaml': environment('other', { name: 'other' }) };
  await using a = await startProcess('a', both);
  await using b = await startProcess('b', both);
  await a.write('other.yaml', null);
  await b.step();
  expect(b.agreed.all().map(({ name }) => name)).toEqual(['shell']);
  await a.write('third.yaml', environment('third', { name: 'third' }));
  await b.step();
  expect(b.description('third')).toBe('third');
});

test('a pool that is resized is no new version, and in force at both', async () => {
  await using a = await startProcess('a', one);
  await using b = await startProcess('b', one);
  const version = b.agreed.newest(environmentName('shell'))?.version;
  await a.write('shell.yaml', environment('one', { max: 3 }));
  await b.step();
  expect(b.agreed.newest(environmentName('shell'))).toMatchObject({ version, pool: { max: 3 } });
});

test('a folder that cannot be used changes nothing for anybody, and its process says where the mistake is', async () => {
  await using a = await startProcess('a', one);
  await using b = await startProcess('b', one);
  await a.write('shell.yaml', `${environment('two')}\nexpose: answer\n`);
  await b.step();
  expect([a.description(), b.description()]).toEqual(['one', 'one']);
  const { trouble } = a.agreed.inForce();
  expect(trouble).toMatch(/shell\.yaml:\d+/);
  expect(trouble).not.toContain('expose');
  expect(a.log.lines.filter(({ level }) => level === 'error')).toHaveLength(1);
  await a.write('shell.yaml', environment('one'));
  expect(a.agreed.inForce().trouble).toBeNull();
});

test('what is newest and beyond a process’ own policy is not used there, whole or in part, until that policy allows it', async () => {
  const policy = 'ceilings: { memory: 64Mi }';
  await using strict = await startProcess('strict', one, { policy });
  await using open = await startProcess('open', one);
  await open.write('shell.yaml', environment('large', { memory: '128Mi' }));
  await strict.step();
  await strict.step();
  expect(strict.description()).toBe('one');
  expect(strict.agreed.inForce().trouble).toContain('policy');
  expect(strict.log.lines.filter(({ level }) => level === 'error')).toHaveLength(1);
  await open.write('shell.yaml', environment('small'));
  await strict.step();
  expect(strict.description()).toBe('small');
  expect(strict.agreed.inForce().trouble).toBeNull();
});

test('a Redis that has forgotten everything learns the environments again, in the same order', async () => {
  await using old = await startProcess('old', one);
  await using recent = await startProcess('recent', { 'shell.yaml': environment('two') });
  await redis.restart('nothing');
  await expect.poll(() => state.adoptRedis('empty').catch(() => null)).toBe('adopted');
  await recent.step();
  await old.step();
  await recent.step();
  expect([old.description(), recent.description()]).toEqual(['two', 'two']);
});

test('while fleet state cannot be asked, the environments stay as they are and a change of the own folder counts', async () => {
  await using a = await startProcess('a', one);
  await redis.restart('nothing');
  await writeFileOf(a, environment('two'));
  expect(a.description()).toBe('two');
});

/** Steps that fail to ask fleet state, which forgot that it holds the fleet. */
async function writeFileOf(process: Awaited<ReturnType<typeof startProcess>>, text: string) {
  await process.write('shell.yaml', text).catch(() => undefined);
  await process.step().catch(() => undefined);
}
