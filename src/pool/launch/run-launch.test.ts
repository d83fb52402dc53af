import { expect, test } from 'vitest';
import { createFakeRandom } from '#test/fakes/random.ts';
import { createFakeClock, settled } from '#test/fakes/clock.ts';
import { fakeEnvironment, fakeTemplate } from '#test/fakes/environment.ts';
import { createFakeLog } from '#test/fakes/log.ts';
import { createFakeMetrics } from '#test/fakes/metrics.ts';
import { createFakePoolStore, fakeKnown } from '#test/fakes/pool-store.ts';
import { fakeOwner } from '#test/fakes/rollout-record.ts';
import type { Template } from '#src/model/environment.ts';
import { failsEverywhere } from '#src/failure/codes.ts';
import { Failure } from '#src/failure/failure.ts';
import { sandboxId, templateDigest } from '#src/model/ids.ts';
import { rolloutKey, sandboxAddress } from '#src/model/rollout.ts';
import { LinkError } from '#src/ports/sandbox-link.ts';
import { fakeJob, fakeLaunch } from '#test/fakes/launch-queue.ts';
import type { CreateRequest } from '#src/ports/sandbox-provider.ts';
import type { Identity, PrepareReply, ProbeDepth, ProbeReply } from '#src/protocol/sandboxd/wire.ts';
import { planPools } from '../plans.ts';
import { SandboxAccount } from '../sandbox-account.ts';
import { runLaunch } from './run-launch.ts';
import { createProvenTemplates } from './start.ts';

const sandbox = sandboxId('sandbox-1');
const address = sandboxAddress('unix:/run/1.sock');
const template = fakeTemplate({ prepare: [['true']] });
const identity: Identity = {
  sandbox,
  boot: 'boot-1',
  protocol: 1,
  state: 'unbound',
  isolation: 'two-user',
  owner: null,
  expiresInMs: null,
  label: null,
  probed: true,
  filesPut: 0,
  keepsStdin: true,
  calls: [],
};

/** A launch's world in which everything works, unless a step is replaced. */
function world(made = template) {
  const clock = createFakeClock();
  const pool = createFakePoolStore();
  const account = new SandboxAccount();
  const log = createFakeLog();
  const metrics = createFakeMetrics();
  const stop = new AbortController();
  const told: string[] = [];
  const job = fakeJob(fakeLaunch(sandbox, { template: made.digest }), {
    stands: (step) => void told.push(step),
  });
  const created: CreateRequest[] = [];
  const proven = createProvenTemplates();
  const steps = {
    create: async (request: CreateRequest): Promise<void> => {
      created.push(request);
      account.apply({ kind: 'running', sandbox: request.sandbox, address });
    },
    identity: async (_look?: 'brief'): Promise<Identity> => identity,
    prepare: async (): Promise<PrepareReply> => ({ ok: true, durationMs: 1 }),
    probe: async (_depth: ProbeDepth): Promise<ProbeReply> => ({ ok: true, durationMs: 1 }),
  };
  const plans = planPools([fakeEnvironment({ template: made })], [], new Map());
  const run = (changes: Partial<typeof job> = {}) =>
    runLaunch(
      {
        pool,
        account,
        clock,
        random: createFakeRandom(),
        log,
        metrics,
        plans: () => plans,
        readPlans: async () => undefined,
        proven,
        tokenSha256Of: (one) => `sha of ${one}`,
        provider: { create: (request) => steps.create(request) },
        link: {
          identity: (_target, _signal, look) => steps.identity(look),
          prepare: () => steps.prepare(),
          probe: (_target, depth) => steps.probe(depth),
        },
      },
      { ...job, ...changes },
      stop.signal,
    );
  return { clock, pool, account, metrics, stop, told, created, steps, run };
}

const rollout = rolloutKey(fakeOwner());

test.each([
  ['is being removed', fakeKnown({ phase: 'draining' }), { kind: 'over' }],
  ['is forgotten', null, { kind: 'over' }],
  ['is ready', fakeKnown({ owner: rollout }), { kind: 'ready', rollout }],
])('a launch that comes again and whose sandbox %s makes nothing', async (_what, known, end) => {
  const { pool, run, created, told } = world();
  if (known !== null) pool.answers.known.set(sandbox, known);
  expect(await run({ mayBeOver: true })).toEqual(end);
  expect(created).toEqual([]);
  expect(told).toEqual([]);
});

test('a launch that comes again while its sandbox is starting goes on with it', async () => {
  const { pool, run, created } = world();
  pool.answers.known.set(sandbox, fakeKnown({ phase: 'starting' }));
  expect(await run({ mayBeOver: true })).toEqual({ kind: 'ready', rollout: null });
  expect(created).toHaveLength(1);
});

test('a template that this controller does not have is left to others, and not held against the template', async () => {
  const { pool, run, created, metrics } = world();
  const launch = fakeLaunch(sandbox, { template: templateDigest('of another') });
  expect(await run({ launch })).toMatchObject({ kind: 'failed', code: 'provider_unavailable' });
  expect(pool.failures).toMatchObject([{ sandbox, code: 'provider_unavailable', reason: null }]);
  expect(created).toEqual([]);
  expect(metrics.recorded).toEqual([]);
});

test('a start that passes every step becomes ready under the boot that answered', async () => {
  const { pool, run, created, metrics, told } = world();
  expect(await run()).toEqual({ kind: 'ready', rollout: null });
  expect(told).toEqual(['create', 'running', 'answering', 'prepare', 'probe']);
  expect(created).toEqual([{ sandbox, template, tokenSha256: 'sha of sandbox-1' }]);
  expect(pool.readied).toEqual([{ sandbox, boot: 'boot-1', address }]);
  expect(metrics.recorded[0]?.values[0]).toEqual({ type: 'warm', result: 'ready' });
});

test('a start that a rollout was waiting for counts as cold', async () => {
  const { pool, run, metrics } = world();
  pool.answers.waiter = rolloutKey(fakeOwner());
  await run();
  expect(metrics.recorded[0]?.values[0]).toEqual({ type: 'cold', result: 'ready' });
});

test('a sandboxd that is not up yet is asked again until it answers', async () => {
  const { pool, run, steps, clock } = world();
  let asked = 0;
  steps.identity = () => {
    asked += 1;
    const refused = new LinkError({ kind: 'not_sent', detail: 'ECONNREFUSED' });
    return asked < 4 ? Promise.reject(refused) : Promise.resolve(identity);
  };
  const ended = run();
  await clock.advance(200);
  await ended;
  expect(asked).toBe(4);
  expect(pool.readied).toHaveLength(1);
});

test('a sandbox that already works for a rollout is left alone: an earlier worker finished it', async () => {
  const { pool, run, steps } = world();
  const owner = { tenant: 't', run: 'r', rollout: 'x', attempt: 1, role: 'policy' };
  steps.identity = () => Promise.resolve({ ...identity, state: 'bound', owner });
  await run();
  expect(pool.readied).toEqual([]);
  expect(pool.failures).toEqual([]);
});

test.each([
  {
    why: 'an image that cannot be had keeps its code',
    step: 'create',
    thrown: new Failure('image_unavailable', 'no such image'),
    code: 'image_unavailable',
  },
  {
    why: 'an error that nobody classified is a failed start',
    step: 'create',
    thrown: new TypeError('oops'),
    code: 'start_failed',
  },
  {
    why: "a prepare command's own failure is the environment's",
    step: 'prepare',
    thrown: new LinkError({ kind: 'refused', status: 422, code: 'prepare_failed', message: 'exit 1' }),
    code: 'setup_failed',
  },
  {
    why: 'a line that breaks during prepare is a failed start',
    step: 'prepare',
    thrown: new LinkError({ kind: 'maybe_sent', detail: 'ECONNRESET' }),
    code: 'start_failed',
  },
  {
    why: 'a sandbox that cannot run a no-op is a failed start',
    step: 'probe',
    thrown: new LinkError({ kind: 'refused', status: 500, code: 'internal', message: 'EAGAIN' }),
    code: 'start_failed',
  },
] as const)('$why', async ({ step, thrown, code }) => {
  const { pool, run, steps } = world();
  Object.assign(steps, { [step]: () => Promise.reject(thrown) });
  expect(await run()).toMatchObject({ kind: 'failed', code });
  expect(pool.failures).toMatchObject([{ sandbox, code }]);
  expect(pool.readied).toEqual([]);
});

const prepareFailed = (detail: { readonly exitCode?: number; readonly errno?: string }) =>
  new LinkError({ kind: 'refused', status: 422, code: 'prepare_failed', message: 'at 12:04', ...detail });
const folderMissing = new Failure('start_failed', '/srv/root is no folder', { evidence: failsEverywhere });

test.each([
  [
    'a prepare command that ends with an exit code',
    'prepare',
    prepareFailed({ exitCode: 4 }),
    'prepare: exit code 4',
  ],
  [
    'a prepare command whose program is missing',
    'prepare',
    prepareFailed({ errno: 'ENOENT' }),
    'prepare: ENOENT',
  ],
  ['a folder that is missing', 'create', folderMissing, '/srv/root is no folder'],
] as const)('%s fails every other sandbox, too, for the same reason', async (_what, step, thrown, reason) => {
  const { pool, run, steps } = world();
  Object.assign(steps, { [step]: () => Promise.reject(thrown) });
  await run();
  expect(pool.failures).toMatchObject([{ reason }]);
});

test.each([
  ['a prepare command that was killed', 'prepare', prepareFailed({})],
  ['a prepare command whose shell says that it was killed', 'prepare', prepareFailed({ exitCode: 137 })],
  ['a prepare command for which there was no memory', 'prepare', prepareFailed({ errno: 'ENOMEM' })],
  ['a connection that broke', 'prepare', new LinkError({ kind: 'maybe_sent', detail: 'ECONNRESET' })],
  ['an image that cannot be pulled', 'create', new Failure('image_unavailable', 'no such image')],
  ['a start that nobody can explain', 'create', new Failure('start_failed', 'exit code 1')],
] as const)('after %s another sandbox may start', async (_what, step, thrown) => {
  const { pool, run, steps } = world();
  Object.assign(steps, { [step]: () => Promise.reject(thrown) });
  await run();
  expect(pool.failures).toMatchObject([{ reason: null }]);
});

test('a sandbox that ended over a missing folder fails every other one, too, in words that name no sandbox', async () => {
  const { pool, account, run, steps } = world();
  steps.create = () => Promise.resolve();
  const ended = run();
  await settled();
  const evidence = { lastWords: '/srv/root is no folder', ...failsEverywhere };
  account.apply({ kind: 'gone', sandbox, cause: 'sandbox_exited', evidence });
  await ended;
  const message = 'the sandbox was gone before it was ready (sandbox_exited): /srv/root is no folder';
  expect(pool.failures).toMatchObject([{ message, reason: message }]);
});

test('a sandbox that is gone before it is ready fails the start at once, with the cause', async () => {
  const { pool, account, run, steps, metrics } = world();
  steps.create = () => Promise.resolve();
  const ended = run();
  await settled();
  account.apply({ kind: 'gone', sandbox, cause: 'out_of_memory', evidence: {} });
  await ended;
  expect(pool.failures[0]?.message).toContain('out_of_memory');
  expect(metrics.recorded[0]?.values[0]).toEqual({ type: 'failed', result: 'start_failed' });
});

test('a start that hangs is given up at its timeout, naming the step in which it stood', async () => {
  const { pool, clock, run, steps } = world();
  steps.probe = () => new Promise(() => undefined);
  const ended = run();
  await clock.advance(template.startTimeoutMs);
  await ended;
  expect(pool.failures).toMatchObject([{ code: 'start_timeout' }]);
  expect(pool.failures[0]?.message).toContain('probe');
});

test('an engine that never answers whether it creates is not held against the template', async () => {
  const { pool, clock, run, steps } = world();
  steps.create = () => new Promise(() => undefined);
  const ended = run();
  await clock.advance(template.startTimeoutMs);
  await ended;
  expect(pool.failures).toMatchObject([{ code: 'provider_unavailable' }]);
});

test.each([
  ['away', 'provider_unavailable', 'node does not answer'],
  ['full', 'unschedulable', 'exceeded quota'],
] as const)(
  'a provider that is %s all the time is not held against the template',
  async (_how, code, message) => {
    const { pool, clock, run, steps } = world();
    steps.create = () => Promise.reject(new Failure(code, message));
    const ended = run();
    await clock.advance(template.startTimeoutMs);
    await ended;
    expect(pool.failures).toMatchObject([{ code, message: expect.stringContaining(message) as string }]);
    expect(clock.sleeping()).toBe(0);
  },
);

test('a provider that comes back in time costs a start nothing of its own time', async () => {
  const { pool, clock, run, steps, created } = world();
  const { create } = steps;
  steps.create = () => Promise.reject(new Failure('provider_unavailable', 'node does not answer'));
  steps.prepare = () => clock.sleep(template.startTimeoutMs - 1).then(() => ({ ok: true, durationMs: 1 }));
  const ended = run();
  await clock.advance(template.startTimeoutMs / 2);
  steps.create = create;
  await clock.advance(template.startTimeoutMs / 2 - 1);
  expect(created).toHaveLength(1);
  await clock.advance(template.startTimeoutMs);
  await ended;
  expect(pool.failures).toEqual([]);
  expect(pool.readied).toHaveLength(1);
});

test('the first sandbox of a template is probed wholly until one passes, the others briefly', async () => {
  const { run, steps, account } = world();
  const depths: ProbeDepth[] = [];
  steps.probe = (depth) => {
    depths.push(depth);
    const refused = new LinkError({ kind: 'refused', status: 500, code: 'internal', message: 'no helper' });
    return depths.length === 1 ? Promise.reject(refused) : Promise.resolve({ ok: true, durationMs: 1 });
  };
  for (let start = 0; start < 4; start += 1) {
    account.apply({ kind: 'running', sandbox, address });
    await run();
  }
  expect(depths).toEqual(['whole', 'whole', 'brief', 'brief']);
});

/** Starts three of a template, one after another: what each is asked beside who it is. */
async function probesOf(changes: Partial<Template>, looked: (look: 'brief' | undefined) => boolean) {
  const { run, steps, account } = world(fakeTemplate(changes));
  const asked: string[] = [];
  steps.identity = async (look) => {
    if (look !== undefined) asked.push('look');
    return { ...identity, probed: looked(look) };
  };
  steps.probe = async (depth) => {
    asked.push(depth);
    return { ok: true, durationMs: 1 };
  };
  for (let start = 0; start < 3; start += 1) {
    account.apply({ kind: 'running', sandbox, address });
    await run();
  }
  return asked;
}

test('where nothing is prepared, who is like a proven one is looked over with its first answer', async () => {
  const asked = await probesOf({ prepare: [] }, (look) => look !== undefined);
  expect(asked).toEqual(['whole', 'look', 'look']);
});

test('a sandboxd that cannot tell by looking, or is too old to, is probed', async () => {
  const asked = await probesOf({ prepare: [] }, () => false);
  expect(asked).toEqual(['whole', 'look', 'brief', 'look', 'brief']);
});

test('what prepares itself is looked over only afterwards', async () => {
  const asked = await probesOf({ prepare: [['true']] }, () => true);
  expect(asked).toEqual(['whole', 'brief', 'brief']);
});

test('a worker that is stopped lets the launch go to another and reports no failure', async () => {
  const { pool, run, steps, stop, clock } = world();
  steps.probe = () => new Promise(() => undefined);
  const ended = run();
  await settled();
  stop.abort(new Error('stopping'));
  await expect(ended).rejects.toThrow('stopping');
  expect(pool.failures).toEqual([]);
  expect(clock.sleeping()).toBe(0);
});

test('when fleet state does not take the ready sandbox, the launch is given to another worker', async () => {
  const { pool, run, steps } = world();
  steps.probe = async () => {
    pool.answers.nextError = new Failure('state_unavailable', 'Redis is away');
    return { ok: true, durationMs: 1 };
  };
  await expect(run()).rejects.toThrow('Redis is away');
  expect(pool.failures).toEqual([]);
});
