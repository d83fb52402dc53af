import { expect, test } from 'vitest';
import { environmentName, environmentVersion } from '#src/model/ids.ts';
import { anyPlace, type Environment } from '#src/model/environment.ts';
import { claimOf, minute, worldOfTests, template } from './world.ts';

const world = worldOfTests();

const day = 24 * 60 * minute;

const environmentOf = (version: string): Environment => ({
  name: environmentName('code'),
  version: environmentVersion(version),
  description: 'täst',
  template: {
    digest: template,
    image: { kind: 'host' },
    cpu: { requestMilli: 100, limitMilli: 1_000 },
    memory: { requestBytes: 1, limitBytes: 2 },
    diskBytes: 3,
    processes: 4,
    network: 'none',
    runAs: 'user',
    uid: 'separate',
    placement: anyPlace,
    env: { EMPTY: '' },
    data: [],
    prepare: [],
    startTimeoutMs: minute,
  },
  setup: { commands: [['true']], timeoutMs: minute },
  expose: [],
  tools: {},
  limits: { toolCalls: 1, outputBytes: 1, rolloutMs: 1, idleMs: 1, gradeMs: 1, hardLifeMs: 1 },
  grader: { kind: 'f1', answer: 'output_json', reference: 'item.files' },
  unseenCalls: 'discard',
  onTooLong: 0,
  texts: {
    exitCode: '[exit code {code}]',
    signalled: '',
    timedOut: '',
    bytesCut: '',
    notStarted: '',
    badArguments: '',
    unknownTool: '',
    budgetSpent: '',
    tooManyAtOnce: '',
    timeSpent: '',
    outOfMemory: '',
    brokeSandbox: '',
    sandboxBroken: '',
    cancelled: '',
  },
  pool: { minReady: 1, max: 2, maxAgeMs: minute },
});

test('a published version is loaded as it was, also after a newer one was published', async () => {
  await world.fleet.environments.publish(environmentOf('v1'));
  await world.fleet.environments.publish(environmentOf('v2'));
  expect(await world.fleet.environments.load(environmentVersion('v1'))).toEqual(environmentOf('v1'));
  expect(await world.fleet.environments.load(environmentVersion('v3'))).toBeNull();
});

test('versions of the last 14 days are listed; one that is still loaded stays', async () => {
  for (const version of ['v1', 'v2']) await world.fleet.environments.publish(environmentOf(version));
  await world.step(13 * day);
  await world.fleet.environments.load(environmentVersion('v1'));
  await world.step(2 * day);
  const published = await world.fleet.environments.published();
  expect(published.map(({ version }) => version)).toEqual(['v1']);
});

test('a version is kept for 14 days after its last new rollout, so that whoever settles its calls finds it', async () => {
  await world.fleet.environments.publish(environmentOf('v1'));
  await world.step(13 * day);
  await world.fleet.claims.claim(claimOf('a', { version: environmentVersion('v1') }));
  await world.step(2 * day);
  expect((await world.fleet.environments.published()).map(({ version }) => version)).toEqual(['v1']);
});

test('versions are found by their first digits, as long as they are kept', async () => {
  for (const version of ['abcdef01', 'abcdef02', 'bbcdef01']) {
    await world.fleet.environments.publish(environmentOf(version));
  }
  expect(await world.fleet.environments.beginning('abcdef')).toEqual(['abcdef01', 'abcdef02']);
  expect(await world.fleet.environments.beginning('bbcdef01')).toEqual(['bbcdef01']);
  await world.step(15 * day);
  expect(await world.fleet.environments.beginning('bbcdef01')).toEqual([]);
});
