import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, test } from 'vitest';
import { anyPlace, type Template } from '#src/model/environment.ts';
import { mirrorProxyBytes } from '#src/model/mirrors.ts';
import { rolloutId, runId, sandboxId, tenantId } from '#src/model/ids.ts';
import { createFakeClock } from '#test/fakes/clock.ts';
import { createFakeLog } from '#test/fakes/log.ts';
import { testTemplate } from '#test/support/sandboxes.ts';
import type { Ending } from '../bwrap/launch.ts';
import { createGroups } from '../cgroups/create-groups.ts';
import { noGroups } from '../cgroups/groups.ts';
import { noOverlay } from '../bwrap/try-overlay.ts';
import { createFeed } from './feed.ts';
import { createRecords, type Records } from './record.ts';
import { checkRequest, createSandboxes, type SandboxesOptions } from './sandboxes.ts';
import { createStartLine } from './start-line.ts';

const sandbox = sandboxId('s-1');
const request = { sandbox, template: testTemplate(), tokenSha256: 'a'.repeat(64) };
const owner = {
  tenant: tenantId('t'),
  run: runId('r'),
  rollout: rolloutId('x'),
  attempt: 1,
  role: 'policy',
} as const;

let stateFolder: string;
beforeEach(async () => {
  stateFolder = await mkdtemp(join(tmpdir(), 'corral-sandboxes-'));
});
afterEach(() => rm(stateFolder, { recursive: true, force: true }));

/** Sandboxes without processes: each lives until the test ends it. */
function setUp(changed: (real: Records) => Partial<Records>, others: Partial<SandboxesOptions> = {}) {
  const real = createRecords(stateFolder);
  const launched = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<Ending>();
  const log = createFakeLog();
  const clock = createFakeClock();
  const sandboxes = createSandboxes({
    clock,
    log,
    feed: createFeed(),
    records: { ...real, ...changed(real) },
    line: createStartLine(1, 10),
    groups: createGroups(noGroups, 'f', clock),
    launch: async () => {
      launched.resolve();
      return { pid: noPid, initPid: Promise.resolve(null), ended: ended.promise };
    },
    mirrors: { open: async () => ({ stop: async () => undefined }) },
    idRanges: null,
    kernelKills: null,
    memoryRoom: { percent: 100, read: () => ({ totalBytes: 2 ** 40, availableBytes: 2 ** 40 }) },
    site: {
      payloadFolder: stateFolder,
      sandboxdArgv: [],
      etcFolder: stateFolder,
      kept: [],
      filterFile: join(stateFolder, 'system-calls.bpf'),
      stageFolder: join(stateFolder, 'stage'),
      canLayer: true,
      canOverlay: noOverlay,
      canLimitSockets: true,
    },
    ...others,
  });
  const endIt = () => ended.resolve({ exitCode: 0, signal: null, lastWords: '' });
  return { real, sandboxes, log, launched: launched.promise, endIt };
}

/** Above the largest that Linux gives. */
const noPid = 2 ** 22 + 1;

test('a label that comes while its sandbox is removed writes nothing into the folder that goes', async () => {
  const removing = Promise.withResolvers<void>();
  const go = Promise.withResolvers<void>();
  const written: unknown[] = [];
  const { sandboxes, launched, endIt } = setUp((real) => ({
    write: (record) => {
      written.push(record.owner);
      real.write(record);
    },
    remove: async (name) => {
      removing.resolve();
      await go.promise;
      await real.remove(name);
    },
  }));
  sandboxes.create(request);
  await launched;
  endIt();
  await removing.promise;
  sandboxes.label(sandbox, owner, 1);
  go.resolve();
  await sandboxes.stop();
  expect(written).not.toContainEqual(owner);
  expect(sandboxes.list()).toEqual([]);
});

test.each([
  ['its group counts no kill: it goes on', 'oom_kill 0', undefined],
  ['its group counts one, too', 'oom_kill 1', 'node_out_of_memory'],
  ['no group counts here: the log is believed', null, 'node_out_of_memory'],
])('the kernel’s log names a kill in a sandbox, and %s', async (_what, counted, cause) => {
  const kills = join(stateFolder, 'memory.oom_control');
  if (counted !== null) await writeFile(kills, `${counted}\n`);
  const memory = counted === null ? null : { kills, limitAlsoAbove: false };
  const groups = createGroups(noGroups, 'f', createFakeClock());
  const id = process.getuid?.() ?? 0;
  const feed = createFeed();
  const { sandboxes, launched, endIt } = setUp(() => ({}), {
    feed,
    groups: { ...groups, create: async (name) => ({ ...groups.open(name), memory }) },
    idRanges: { take: async () => id, free: () => undefined, close: () => undefined },
    kernelKills: { next: () => [id], close: () => undefined },
  });
  sandboxes.create(request);
  await launched;
  await sandboxes.look();
  endIt();
  await expect.poll(() => feed.recentlyGone()).toHaveLength(1);
  expect(feed.recentlyGone()[0]?.cause).toBe(cause ?? 'sandbox_exited');
});

test('a sandbox whose removal failed is removed when the node stops', async () => {
  let fails = true;
  const { real, sandboxes, log, launched, endIt } = setUp((records) => ({
    remove: async (name) => {
      if (fails) throw new Error('ENOTEMPTY');
      await records.remove(name);
    },
  }));
  sandboxes.create(request);
  await launched;
  endIt();
  await expect.poll(() => log.lines).toContainEqual(expect.objectContaining({ level: 'error' }));
  expect(await real.list()).toEqual([sandbox]);
  fails = false;
  await sandboxes.stop();
  expect(await real.list()).toEqual([]);
});

test('limits are promised until a sandbox is removed, and one that would promise too much waits for room', async () => {
  const limitBytes = request.template.memory.limitBytes;
  const memory = { totalBytes: 3 * limitBytes, availableBytes: 3 * limitBytes };
  const { sandboxes, endIt } = setUp(() => ({}), { memoryRoom: { percent: 70, read: () => memory } });
  const create = (id: string) => sandboxes.create({ ...request, sandbox: sandboxId(id) });
  create('s-1');
  create('s-2');
  create('s-2');
  expect(() => create('s-3')).toThrow(expect.objectContaining({ code: 'unschedulable' }));
  sandboxes.destroy(sandboxId('s-2'));
  await expect.poll(() => sandboxes.list()).toHaveLength(1);
  memory.availableBytes = limitBytes - 1;
  expect(() => create('s-3')).toThrow(/starts when others have ended/);
  memory.availableBytes = limitBytes;
  create('s-3');
  endIt();
  await sandboxes.stop();
});

test('a sandbox with mirrors is promised the memory of its proxy, too', async () => {
  const mirrors = { pypi: ['https://packages.example/simple/'] };
  const template = { ...request.template, mirrors };
  const both = template.memory.limitBytes + mirrorProxyBytes;
  const memory = { totalBytes: both - 1, availableBytes: both };
  const { sandboxes, endIt } = setUp(() => ({}), {
    idRanges: { take: async () => process.getuid?.() ?? 0, free: () => undefined, close: () => undefined },
    memoryRoom: { percent: 100, read: () => memory },
  });
  const create = () => sandboxes.create({ ...request, template });
  expect(create).toThrow(/it never starts here/);
  memory.totalBytes = both;
  create();
  endIt();
  await sandboxes.stop();
});

test('a process that bubblewrap left behind before it told of it is killed with its sandbox', async () => {
  const left = spawn('sleep', ['1000'], { stdio: 'ignore' });
  const gone = once(left, 'exit');
  const launched = Promise.withResolvers<void>();
  const groups = createGroups(noGroups, 'f', createFakeClock());
  const { sandboxes } = setUp(() => ({}), {
    groups: {
      ...groups,
      create: async (...made) => ({
        ...(await groups.create(...made)),
        members: () => [left.pid ?? noPid],
      }),
    },
    launch: async () => {
      launched.resolve();
      const ended = gone.then(() => ({ exitCode: null, signal: 'SIGKILL', lastWords: '' }));
      return { pid: noPid, initPid: gone.then(() => null), ended };
    },
  });
  sandboxes.create(request);
  await launched.promise;
  await sandboxes.stop();
  expect(left.signalCode).toBe('SIGKILL');
});

const check = (changes: Partial<Template>, socketPath = '/state/run/d.sock') =>
  checkRequest(
    { sandbox: sandboxId('s-1'), template: testTemplate(changes), tokenSha256: 'a'.repeat(64) },
    socketPath,
  );

describe('what can never start here', () => {
  it.each([
    ['a stronger wall', { placement: { ...anyPlace, runtimeClass: 'gvisor' } }, 'gvisor'],
    ['a network', { network: 'proxy' }, '"proxy"'],
    ['data over /proc', { data: [{ source: '/d', target: '/proc/x' }] }, '/proc/x'],
    ['data over the payload', { data: [{ source: '/d', target: '/.corral' }] }, '/.corral'],
    ['data over the whole workspace', { data: [{ source: '/d', target: '/workspace' }] }, '/workspace'],
    ['data at a path that climbs', { data: [{ source: '/d', target: '/data/../proc' }] }, '/data/../proc'],
  ] as const)('%s is refused with a sentence that names it', (_, changes, named) => {
    expect(() => check(changes)).toThrow(expect.objectContaining({ code: 'start_failed' }));
    expect(() => check(changes)).toThrow(named);
  });

  it('a socket path that the kernel would cut is refused', () => {
    expect(() => check({}, `/${'x'.repeat(107)}`)).toThrow('CORRAL_NODE_STATE_DIR');
    expect(() => check({}, `/${'x'.repeat(106)}`)).not.toThrow();
  });

  it('data inside the workspace is allowed', () => {
    expect(() => check({ data: [{ source: '/d', target: '/workspace/repo' }] })).not.toThrow();
  });
});
