import { describe, expect, test } from 'vitest';
import { fakeEnvironment, fakeTemplate, roomyPool } from '#test/fakes/environment.ts';
import { fakeRollout } from '#test/fakes/rollout-record.ts';
import { chooseTemplate } from '../environments/choose-template.ts';
import { keepDemands } from '../claiming/kept-demands.ts';
import { templateDigest } from '../model/ids.ts';
import { graderSide } from './grader-side.ts';

const graderTemplate = fakeTemplate({ digest: templateDigest('graders'), role: 'grader' });
const ceilings = { operator: {}, machine: { memoryBytes: 2 ** 34 } };
const environment = fakeEnvironment({ graderTemplate, ceilings, pool: roomyPool });
const { template, amounts } = chooseTemplate(environment, null, { memoryBytes: 2 ** 31 });
const { version } = environment;

const sideOf = (needs: string | null, ofPolicy = template.digest) =>
  graderSide({
    environment,
    item: null,
    turn: 1,
    claim: { face: 'native', version },
    rollout: fakeRollout({ template: ofPolicy, needs }),
  });

test('a grader elsewhere gets what the task demands, and controllers what makes its template', () => {
  const side = sideOf(keepDemands(null, amounts));
  expect(side.environment.template).toMatchObject({ role: 'grader', memory: { limitBytes: 2 ** 31 } });
  expect(side.request.chosen).toEqual({ version, amounts: { memoryBytes: 2 ** 31 }, role: 'grader' });
});

test('of a task that demands nothing it has the environment’s own sandbox', () => {
  const { request } = sideOf(null, environment.template.digest);
  expect(request).toMatchObject({ template: 'graders' });
  expect(request.chosen).toBeUndefined();
});

describe('a demand that is not what the policy’s sandbox has, because a policy rewrote it, makes no grader:', () => {
  test.each([
    ['a larger one', keepDemands(null, { memoryBytes: 2 ** 46 })],
    ['a smaller one', keepDemands(null, { memoryBytes: 2 ** 30 })],
    ['none', null],
    ['no JSON', '{'],
  ])('%s', (_what, needs) => {
    expect(() => sideOf(needs)).toThrow(
      expect.objectContaining({
        message: expect.stringContaining('does not have what it says that its task demands'),
        code: 'grader_failed',
        evidence: expect.objectContaining({ suspected: 'command' }),
      }),
    );
  });
});
