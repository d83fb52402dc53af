import { describe, expect, test } from 'vitest';
import { fakeEnvironment, fakeOpenTemplate } from '#test/fakes/environment.ts';
import { fakeRollout } from '#test/fakes/rollout-record.ts';
import { templateDigest } from '../model/ids.ts';
import { openingClaim, repeatedClaim } from './claim-request.ts';

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
