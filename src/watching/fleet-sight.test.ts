import { expect, test } from 'vitest';
import { createFakeClock } from '#test/fakes/clock.ts';
import { fakeEnvironment } from '#test/fakes/environment.ts';
import { createCatalog } from '../environments/load-environments.ts';
import { environmentName, environmentVersion, templateDigest } from '../model/ids.ts';
import type { FleetReading, HeardProcess, WatchedTemplate } from '../ports/fleet/watch.ts';
import { watchFleet } from './fleet-sight.ts';

const template = (name: string, changes: Partial<WatchedTemplate> = {}): WatchedTemplate => ({
  template: templateDigest(name),
  ready: 1,
  starting: 0,
  held: 0,
  waiting: 0,
  announced: 0,
  breaker: 'closed',
  lastFailure: null,
  environment: null,
  chosenFor: null,
  ...changes,
});

const gateway = (changes: Partial<HeardProcess> = {}): HeardProcess => ({
  kind: 'gateway',
  host: 'pod',
  pid: 1,
  version: '0.1.0',
  ageMs: 0,
  state: 'serving',
  inHand: {},
  atMost: {},
  verdicts: {},
  silentMs: 0,
  ...changes,
});

const empty: FleetReading = {
  rollouts: { open: 0, inLine: 0, callsRunning: 0 },
  sandboxes: { all: 0, starting: 0, leaving: 0 },
  line: [],
  runsLeftOut: 0,
  templates: [],
  templatesLeftOut: 0,
  processes: [],
  costMs: 0,
};

function watching(reading: Partial<FleetReading>) {
  const own = fakeEnvironment({ name: environmentName('own') });
  const sight = watchFleet({
    watch: { read: () => Promise.resolve({ ...empty, ...reading }) },
    memory: { usage: () => Promise.resolve({ usedBytes: 1, limitBytes: null }) },
    server: () => Promise.resolve(null),
    catalog: createCatalog([own]),
    clock: createFakeClock(),
  });
  return { own, sight };
}

test('a template is called after its environment: of the folder, of who holds one, or of whose row named it', async () => {
  const { own } = watching({});
  const { sight } = watching({
    templates: [
      template(own.template.digest),
      template('earlier', { environment: environmentName('older') }),
      template('of-row', { chosenFor: own.version }),
      template('unknown', { chosenFor: environmentVersion('nobody has it') }),
    ],
  });
  const { reading } = await sight.get();
  expect([...reading.environments]).toEqual([
    [own.template.digest, 'own'],
    ['earlier', 'older'],
    ['of-row', 'own'],
  ]);
});

test('the rest after a reading is twenty times its cost for each gateway that may be read by', async () => {
  const gone = [gateway({ state: 'left' }), gateway({ silentMs: 60_000 }), gateway({ kind: 'controller' })];
  const { sight } = watching({ costMs: 100, processes: [gateway(), gateway(), ...gone] });
  expect((await sight.get()).nextInMs).toBe(2 * 20 * 100);
});
