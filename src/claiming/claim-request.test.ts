import { describe, expect, test } from 'vitest';
import { fakeEnvironment, fakeOpenTemplate } from '#test/fakes/environment.ts';
import { fakeRollout } from '#test/fakes/rollout-record.ts';
import type { Item } from '../model/grader.ts';
import { templateDigest } from '../model/ids.ts';
import { isOtherItem, itemDigestOf, openingClaim, repeatedClaim } from './claim-request.ts';

const { owner } = fakeRollout();
const canonical = (value: unknown) => JSON.stringify(value);
const byRow = { ...fakeEnvironment(), template: fakeOpenTemplate(['tasks/*']) };
const row = { id: 'task-1', image: 'tasks/a:1' };
const opening = () => openingClaim(owner, 'rft', byRow, row, canonical);
const chosen = { version: byRow.version, image: { kind: 'image', reference: 'tasks/a:1' } };

describe('the claim of a rollout whose row names its image', () => {
  test('is for the template that the row makes, and tells what controllers need to make it too', () => {
    expect(opening()).toMatchObject({ version: byRow.version, chosen });
    const other = openingClaim(owner, 'rft', byRow, { ...row, image: 'tasks/b:1' }, canonical);
    expect(other.template).not.toBe(opening().template);
  });

  test('is the same when it is made again from the record', () => {
    const { template } = opening();
    expect(repeatedClaim(fakeRollout({ template }), byRow, row)).toMatchObject({
      template,
      chosen,
      item: null,
    });
  });

  test('stays in its template when its image is no longer allowed, or its row is gone', () => {
    const { template } = opening();
    const narrowed = { ...byRow, template: fakeOpenTemplate(['other/*']) };
    for (const kept of [row, null]) {
      const claim = repeatedClaim(fakeRollout({ template }), narrowed, kept);
      expect(claim).toMatchObject({ template });
      expect(claim).not.toHaveProperty('chosen');
    }
  });
});

test('the claim of any other rollout tells nothing that its environment does not say', () => {
  const environment = fakeEnvironment();
  expect(openingClaim(owner, 'rft', environment, row, canonical)).not.toHaveProperty('chosen');
  const record = fakeRollout({ template: templateDigest('as-it-was-opened') });
  expect(repeatedClaim(record, environment, null)).toMatchObject({ template: 'as-it-was-opened' });
});

describe('two rows are the same', () => {
  const { grader: _grader, ...rest } = fakeEnvironment({ expose: ['repo'] });
  const compares = fakeEnvironment({ expose: ['repo'] });
  const asked = {
    kind: 'command',
    argv: ['check'],
    files: {},
    timeoutMs: 1,
    onExit: 0,
    onTimeout: 0,
  } as const;
  const commanded = { ...rest, grader: { ...asked, onOutOfMemory: 0, onBroken: 0 } };
  const first = { id: 'task-1', repo: 'a', answer: '42', sampled: 1 };
  const isSame = (environment: Parameters<typeof itemDigestOf>[0], other: Item) =>
    !isOtherItem(itemDigestOf(environment, first, canonical), itemDigestOf(environment, other, canonical));

  test.each([
    ['with the same values', {}, true, true],
    ['with another value in a field that is not read', { sampled: 2 }, true, false],
    ['with a field of the ladder', { corral: 'yes' }, true, true],
    ['not with another answer', { answer: '43' }, false, false],
    ['not with another id', { id: 'task-2' }, false, false],
    ['not with another value of an exposed field', { repo: 'b' }, false, false],
  ])('%s', (_, given, ifCompared, ifCommanded) => {
    expect(isSame(compares, { ...first, ...given })).toBe(ifCompared);
    expect(isSame(commanded, { ...first, ...given })).toBe(ifCommanded);
  });

  test('by the other fields if one of them has no id', () => {
    const { id: _id, ...unnamed } = first;
    expect([isSame(compares, unnamed), isSame(commanded, unnamed)]).toEqual([true, true]);
    expect(isSame(compares, { ...unnamed, answer: '43' })).toBe(false);
  });

  test('if one is missing or its digest has another format', () => {
    const digest = itemDigestOf(compares, first, canonical);
    expect(isOtherItem(digest, itemDigestOf(compares, null, canonical))).toBe(false);
    expect(isOtherItem(digest, '2:0:')).toBe(false);
  });
});
