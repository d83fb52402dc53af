import { expect, test } from 'vitest';
import { fakeOwner } from '../../test/fakes/rollout-record.ts';
import { sandboxId } from '../model/ids.ts';
import type { SandboxId } from '../model/ids.ts';
import { rolloutKey } from '../model/rollout.ts';
import type { RolloutKey } from '../model/rollout.ts';
import { Witness } from './witness.ts';

const [one, other] = [sandboxId('one'), sandboxId('other')];
const rollout = rolloutKey(fakeOwner('a'));

const known = (sandbox: SandboxId, owner: RolloutKey | null, phase = 'ready') =>
  new Map([[sandbox, { phase, sinceMs: 0, owner }]]);

test('a rollout is where it was seen last, also when nothing is known any more', () => {
  const witness = new Witness();
  witness.note(known(one, rollout));
  witness.note(known(other, rollout));
  witness.note(new Map());
  expect([...witness.sightings]).toEqual([[rollout, other]]);
  expect(witness.whoWasIn(other)).toBe(rollout);
  expect(witness.whoWasIn(one)).toBeNull();
});

test('nobody is seen in a sandbox that is free, or on its way out', () => {
  const witness = new Witness();
  witness.note(known(one, null));
  witness.note(known(other, rollout, 'draining'));
  expect([...witness.sightings]).toEqual([]);
});

test('beyond its bound it forgets who was not seen for longest', () => {
  const witness = new Witness();
  const crowd = Array.from({ length: 20_000 }, (_, index) => rolloutKey(fakeOwner(`r${index}`)));
  for (const each of crowd) witness.note(known(one, each));
  witness.note(known(one, rollout));
  const seen = [...witness.sightings].map(([key]) => key);
  expect(seen).toHaveLength(20_000);
  expect(seen).not.toContain(crowd[0]);
  expect(seen.at(-1)).toBe(rollout);
});
