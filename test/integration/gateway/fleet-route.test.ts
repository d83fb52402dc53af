import { Value } from 'typebox/value';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Failure } from '#src/failure/failure.ts';
import { environmentName, rolloutId, runId, templateDigest, tenantId } from '#src/model/ids.ts';
import { rolloutKey } from '#src/model/rollout.ts';
import type { HeardProcess, WaitingRun, WatchedTemplate } from '#src/ports/fleet/watch.ts';
import { FleetAnswer } from '#src/protocol/native/fleet.ts';
import type { FleetSight } from '#src/watching/fleet-sight.ts';
import { fakeLaunch } from '#test/fakes/launch-queue.ts';
import { type GatewayUnderTest, startGateway } from './gateway-under-test.ts';

const digest = templateDigest('d'.repeat(64));

const run = (tenant: string, name: string, firstWaitsMs: number): WaitingRun => ({
  template: digest,
  waiting: 3,
  ahead: 1,
  first: rolloutKey({
    tenant: tenantId(tenant),
    run: runId(name),
    rollout: rolloutId(`of-${name}`),
    attempt: 1,
    role: 'policy',
  }),
  firstWaitsMs,
});

const template = (changes: Partial<WatchedTemplate> = {}): WatchedTemplate => ({
  template: digest,
  ready: 2,
  starting: 0,
  held: 5,
  waiting: 3,
  announced: 0,
  breaker: 'closed',
  lastFailure: null,
  environment: null,
  chosenFor: null,
  isGraders: false,
  ...changes,
});

const gatewayWord: HeardProcess = {
  kind: 'gateway',
  host: 'pod-gateway',
  pid: 1,
  version: '0.1.0',
  ageMs: 60_000,
  state: 'serving',
  inHand: { requests: 4 },
  atMost: { requests: 4_000 },
  verdicts: { scorable: 10, sandbox_lost: 2 },
  silentMs: 500,
};
const controllerWord: HeardProcess = {
  ...gatewayWord,
  kind: 'controller',
  host: 'pod-controller',
  atMost: { starts: 32 },
  verdicts: { sandbox_lost: 1, rollout_expired: 1 },
};

const silent = (silentMs: number, state: HeardProcess['state'] = 'serving') => ({
  ...controllerWord,
  silentMs,
  state,
});

const sight: FleetSight = {
  rollouts: { open: 11, inLine: 6, callsRunning: 2 },
  sandboxes: { all: 7, starting: 0, leaving: 0 },
  line: [run('other', 'secret-run', 9_000), run('acme', 'own-run', 4_000)],
  runsLeftOut: 0,
  templates: [template(), template({ template: templateDigest('idle'), ready: 0, held: 0, waiting: 0 })],
  templatesLeftOut: 0,
  processes: [gatewayWord, controllerWord],
  costMs: 0.8,
  environments: new Map([[digest, environmentName('shell')]]),
  memory: { usedBytes: 1_000, limitBytes: null },
  server: null,
  launches: [],
};

let seen: FleetSight = sight;
let gateway: GatewayUnderTest;
beforeEach(async () => {
  seen = sight;
  const look = () => Promise.resolve({ reading: seen, ageMs: 20, nextInMs: 980 });
  gateway = await startGateway({ fleet: { fleet: 'lab', look } });
});
afterEach(() => gateway.stop(1_000));

const ask = async (...scopes: Parameters<GatewayUnderTest['headersOf']>) => {
  const answer = await fetch(`${gateway.url}/v1/fleet`, { headers: gateway.headersOf(...scopes) });
  return { status: answer.status, body: (await answer.json()) as FleetAnswer };
};

describe('GET /v1/fleet', () => {
  it('tells the whole fleet to a key that may see it, as its schema says', async () => {
    const { status, body } = await ask('fleet');
    expect(status).toBe(200);
    expect(Value.Check(FleetAnswer, body)).toBe(true);
    expect(body).toMatchObject({ fleet: 'lab', age_ms: 20, next_in_ms: 980, sees: 'all tenants' });
    expect(body.waiting).toEqual({
      rollouts: 6,
      oldest_ms: 9_000,
      runs: [
        expect.objectContaining({ tenant: 'other', run: 'secret-run' }),
        {
          tenant: 'acme',
          run: 'own-run',
          environment: 'shell',
          template: digest,
          waiting: 3,
          place: 2,
          oldest_ms: 4_000,
          oldest_rollout: 'of-own-run',
        },
      ],
      others: { runs: 0, waiting: 0 },
      runs_left_out: 0,
    });
    expect(body.processes[0]).toMatchObject({ kind: 'gateway', host: 'pod-gateway', pid: 1 });
    expect(body.sandboxes.starting_at_most).toBe(32);
  });

  it('says of a process that waits because of its timings why it is not ready', async () => {
    const unready = 'openingMs is 1000 here and 30000 in the fleet';
    seen = { ...sight, processes: [gatewayWord, { ...controllerWord, unready }] };
    const { processes } = (await ask('admin')).body;
    expect(processes.map((one) => one.unready)).toEqual([undefined, unready]);
  });

  it.each(['native', 'admin'] as const)(
    'tells a key of a tenant (%s) its own runs by name, the others as a count, and no host',
    async (scope) => {
      const { body } = await ask(scope);
      expect(body.sees).toBe('own tenant');
      expect(body.waiting.runs.map((line) => line.run)).toEqual(['own-run']);
      expect(body.waiting.others).toEqual({ runs: 1, waiting: 3 });
      expect(JSON.stringify(body)).not.toMatch(/secret-run|pod-gateway/);
    },
  );

  it('is shut for the keys of training jobs, and without a key', async () => {
    const answers = [await ask('rft:tools'), await ask('rft:grade')];
    const bare = await fetch(`${gateway.url}/v1/fleet`);
    expect([...answers, bare].map(({ status }) => status)).toEqual([401, 401, 401]);
  });

  it('lets a key that may only watch do nothing else', async () => {
    const headers = gateway.headersOf('fleet');
    expect((await fetch(`${gateway.url}/v1/runs`, { headers })).status).toBe(401);
  });

  it('leaves idle templates out, and of many runs tells the 50 that wait longest', async () => {
    const line = Array.from({ length: 300 }, (_, index) => run('acme', `run-${index}`, 9_000 - index));
    seen = { ...sight, line, runsLeftOut: 700 };
    const { body } = await ask('fleet');
    expect(body.templates).toHaveLength(1);
    expect([body.waiting.runs.length, body.waiting.runs_left_out]).toEqual([50, 950]);
  });

  it('lists launches; of other tenants neither run, rollout nor failure is shown', async () => {
    const other = fakeLaunch('s1', { run: 'other/secret-run' });
    const own = fakeLaunch('s2', { run: 'acme/own-run' });
    const rollout = sight.line[0]?.first ?? null;
    seen = {
      ...sight,
      launches: [
        { launch: other, state: 'failed', atMs: 0, agoMs: 5, tookMs: 7, failure: 'setup_failed: exit 1' },
        { launch: own, state: 'ready', atMs: 0, agoMs: 5, tookMs: 7, rollout },
      ],
    };
    const shown = {
      environment: 'shell',
      reason: 'waiting',
      ago_ms: 5,
      took_ms: 7,
      rollout: null,
      failure: null,
    };
    expect((await ask('native')).body.launches).toEqual([
      { ...shown, sandbox: 's1', run: null, state: 'failed' },
      { ...shown, sandbox: 's2', run: 'acme/own-run', state: 'ready' },
    ]);
    expect((await ask('fleet')).body.launches).toMatchObject([
      { run: 'other/secret-run', failure: 'setup_failed: exit 1' },
      { rollout: 'of-secret-run' },
    ]);
  });

  it('sums the verdicts of all processes by blame, and counts a code that it does not know as ours', async () => {
    const newer = { ...controllerWord, verdicts: { code_of_tomorrow: 1 } as HeardProcess['verdicts'] };
    seen = { ...sight, processes: [gatewayWord, controllerWord, newer] };
    const { body } = await ask('fleet');
    expect(body.verdicts).toEqual({
      of_ms: 300_000,
      scorable: 10,
      discarded: 5,
      blame: { infrastructure: 4, caller: 1, model: 0 },
      codes: { sandbox_lost: 3, rollout_expired: 1, code_of_tomorrow: 1 },
    });
  });

  it('tells who has not been heard of for six seconds as silent, unless it left in order', async () => {
    seen = {
      ...sight,
      processes: [silent(6_000), silent(6_001), silent(60_000, 'left'), silent(1, 'leaving')],
    };
    const { body } = await ask('fleet');
    expect(body.processes.map(({ state }) => state)).toEqual(['serving', 'silent', 'left', 'leaving']);
  });

  it('says that fleet state does not answer when it does not', async () => {
    await gateway.stop(0);
    const away = new Failure('state_unavailable', 'Redis is away');
    gateway = await startGateway({ fleet: { fleet: 'lab', look: () => Promise.reject(away) } });
    const { status, body } = await ask('fleet');
    expect([status, body]).toMatchObject([503, { error: { code: 'state_unavailable' } }]);
  });
});
