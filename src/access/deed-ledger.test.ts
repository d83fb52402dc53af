import { expect, test } from 'vitest';
import { createFakeClock } from '#test/fakes/clock.ts';
import { fakeOwner } from '#test/fakes/rollout-record.ts';
import { rolloutKey } from '../model/rollout.ts';
import type { FleetEvent } from '../ports/event-log.ts';
import { DeedLedger, ledgerMs } from './deed-ledger.ts';

function world() {
  const clock = createFakeClock();
  const told: FleetEvent[] = [];
  const ledger = new DeedLedger((event) => void told.push(event), clock);
  return { clock, told, ledger };
}

const refused = (keyId: string | null): FleetEvent => ({
  kind: 'request_refused',
  atMs: 1,
  keyId,
  reason: keyId === null ? 'no_key' : 'no_scope',
  scope: 'native',
  face: 'native',
  method: 'GET',
  route: '/v1/runs',
  from: '10.0.0.9',
});

const closed: FleetEvent = {
  kind: 'rollout_closed',
  atMs: 1,
  key: rolloutKey(fakeOwner()),
  keyId: 'trainer',
  environment: 'shell',
  version: 'v1',
  by: 'deleted',
};

test('a flood of requests without a key is ten lines and one that counts the rest; a known key has lines of its own', async () => {
  const { clock, told, ledger } = world();
  const beganMs = clock.nowMs();
  for (let n = 0; n < 5_000; n += 1) ledger.record(refused(null));
  ledger.record(refused('nightly'));
  expect(told).toHaveLength(11);
  await clock.advance(ledgerMs);
  ledger.turn();
  expect(told.slice(11)).toEqual([
    {
      kind: 'deeds_untold',
      atMs: beganMs + ledgerMs,
      keyId: null,
      of: 'request_refused',
      count: 4_990,
      sinceMs: beganMs,
    },
  ]);
});

test('the next minute is told again, and a quiet one leaves no line', () => {
  const { told, ledger } = world();
  for (let n = 0; n < 11; n += 1) ledger.record(refused(null));
  ledger.turn();
  ledger.turn();
  ledger.record(refused(null));
  expect(told.map(({ kind }) => kind).slice(9)).toEqual([
    'request_refused',
    'deeds_untold',
    'request_refused',
  ]);
});

test('what happened to rollouts is told without a bound', () => {
  const { told, ledger } = world();
  for (let n = 0; n < 500; n += 1) ledger.record(closed);
  expect(told).toHaveLength(500);
});
