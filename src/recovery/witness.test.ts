import { expect, test } from 'vitest';
import { fakeOwner } from '#test/fakes/rollout-record.ts';
import { sandboxId } from '../model/ids.ts';
import { rolloutKey, type RolloutKey } from '../model/rollout.ts';
import { Witness } from './witness.ts';

const [one, other] = [sandboxId('one'), sandboxId('other')];
const rollout = rolloutKey(fakeOwner('a'));

const inIt = (owner: RolloutKey | null, phase = 'ready') => ({ phase, owner });

test('a rollout is where it was seen last', () => {
  const witness = new Witness();
  witness.note(one, inIt(rollout));
  witness.note(other, inIt(rollout));
  expect([...witness.lastSeen]).toEqual([[rollout, other]]);
  expect(witness.whoWasIn(other)).toBe(rollout);
  expect(witness.whoWasIn(one)).toBeNull();
});

test('nobody is seen in a sandbox that is free, or on its way out', () => {
  const witness = new Witness();
  witness.note(one, inIt(null));
  witness.note(other, inIt(rollout, 'draining'));
  expect([...witness.lastSeen]).toEqual([]);
});

test('beyond its bound it forgets who was not seen for longest', () => {
  const witness = new Witness();
  const crowd = Array.from({ length: 20_000 }, (_, index) => rolloutKey(fakeOwner(`r${index}`)));
  for (const each of crowd) witness.note(one, inIt(each));
  witness.note(one, inIt(rollout));
  const seen = [...witness.lastSeen].map(([key]) => key);
  expect(seen).toHaveLength(20_000);
  expect(seen).not.toContain(crowd[0]);
  expect(seen.at(-1)).toBe(rollout);
});
