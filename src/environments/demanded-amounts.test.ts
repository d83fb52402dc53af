import { describe, expect, test } from 'vitest';
import { fakeEnvironment, fakeTemplate, roomyPool } from '#test/fakes/environment.ts';
import type { Amounts } from '../model/amounts.ts';
import type { Environment } from '../model/environment.ts';
import type { Json } from '../model/grader.ts';
import { decideAmounts } from './demanded-amounts.ts';
import { raiseAmounts } from './raise-amounts.ts';

const mebibyte = 1024 ** 2;
const gibibyte = 1024 ** 3;
const demands = { memoryBytes: 'memory', cpuMilli: 'cores' };

const most = { memoryBytes: 64 * gibibyte, cpuMilli: 64_000, diskBytes: 64 * gibibyte };
const ceilings = { operator: most, machine: {} };

const decide = (required: Amounts, given: Partial<Environment> = {}) =>
  decideAmounts({ ...fakeEnvironment({ pool: roomyPool }), ceilings, ...given }, null, required);
const ofRow = (row: Readonly<Record<string, Json>>, required: Amounts = {}) =>
  decideAmounts(fakeEnvironment({ demands, ceilings }), row, required);

describe('a demand', () => {
  test.each([
    [{ memoryBytes: 2_000_000_000 }],
    [{ cpuMilli: 1_001, memoryBytes: 8 * gibibyte }],
    [{ diskBytes: 10 * gibibyte }],
    [{ memoryBytes: 64 * gibibyte }],
  ])('gets what it says, to the byte: %j', (required) => {
    expect(decide(required)).toEqual({ amounts: required, unmet: [] });
  });

  test('that the environment meets is kept as it is', () => {
    expect(decide({ memoryBytes: 200 * mebibyte }).amounts).toEqual({ memoryBytes: 200 * mebibyte });
  });

  test('of 0 is not a demand', () => {
    expect(decide({ memoryBytes: 0 })).toEqual({ amounts: {}, unmet: [] });
  });

  test.each([
    [
      { operator: { memoryBytes: gibibyte }, machine: {} },
      "operator's ceiling .* is 1024 MiB",
      'ceilings.memory',
    ],
    [{ operator: {}, machine: { memoryBytes: gibibyte } }, 'one machine has 1024 MiB', 'larger machine'],
    [
      { operator: { memoryBytes: 3 * gibibyte }, machine: { memoryBytes: gibibyte } },
      'one machine has 1024 MiB',
      'larger machine',
    ],
    [{ operator: { memoryBytes: 2 ** 60 }, machine: {} }, 'no sandbox has more', 'lower the'],
    [
      { operator: {}, machine: {} },
      'operator has set no ceiling',
      "ceilings.memory in the operator's policy",
    ],
  ])('above the lowest ceiling is named, with that ceiling: %j', (ceilings, given, fix) => {
    const { amounts, unmet } = decide({ memoryBytes: 2 ** 50 }, { ceilings });
    expect(amounts).toEqual({});
    expect(unmet).toEqual([
      {
        requirement: 'memory',
        wanted: expect.stringMatching(/^the task demands \d+ MiB of memory$/),
        given: expect.stringMatching(given),
        fix: expect.stringContaining(fix),
      },
    ]);
  });

  test('never lowers what the environment has, also above a ceiling that came later', () => {
    const ceilings = { operator: { memoryBytes: mebibyte }, machine: {} };
    expect(decide({ memoryBytes: 128 * mebibyte }, { ceilings })).toEqual({
      amounts: { memoryBytes: 128 * mebibyte },
      unmet: [],
    });
  });
});

/** As much memory as so many sandboxes of the environment. */
const places = (count: number) => ({ memoryBytes: count * 256 * mebibyte });

describe('a demand that the pool has no room for, even if its task is the only one', () => {
  const pool = { minReady: 0, max: 4, maxAgeMs: 1 };

  test('is refused by name, with pool.max, and the largest one below it is given', () => {
    expect(decide(places(4), { pool }).unmet).toEqual([]);
    expect(decide({ memoryBytes: 1_025 * mebibyte }, { pool })).toEqual({
      amounts: {},
      unmet: [
        {
          requirement: 'memory',
          wanted: 'the task demands as much memory as 5 sandboxes of environment plain have',
          given: 'pool.max of plain is 4 sandboxes',
          fix: "lower the task's demand, raise pool.max, or raise sandbox.memory of plain",
        },
      ],
    });
  });

  test('is refused with the amount that has the most places', () => {
    expect(decide({ ...places(2), cpuMilli: 9_000 }, { pool }).unmet).toMatchObject([{ requirement: 'cpu' }]);
  });

  test('counts what its grader needs beyond the places of graders', () => {
    const graded = { pool: { ...pool, grader: { minReady: 0, max: 1 } }, graderTemplate: fakeTemplate() };
    expect(decide(places(2), graded).unmet).toEqual([]);
    expect(decide(places(3), graded).unmet).toMatchObject([
      {
        wanted: expect.stringContaining('and its grader needs 2 more than graders have'),
        given: 'pool.max of plain is 4 sandboxes, 1 of them for graders',
      },
    ]);
  });

  test('is refused with the operator’s own size, if there is one', () => {
    const smaller = { ceilings: { ...ceilings, poolMax: 2 }, pool };
    expect(decide(places(2), smaller).unmet).toEqual([]);
    expect(decide(places(3), smaller).unmet).toMatchObject([
      { given: expect.stringContaining('is 2 sandboxes, as the operator has set it') },
    ]);
    expect(decide(places(6), { ceilings: { ...ceilings, poolMax: 8 }, pool }).unmet).toEqual([]);
  });

  test('is no demand up to the environment’s own amounts, whatever its pool', () => {
    expect(decide(places(1), { pool: { ...pool, max: 1 } }).unmet).toEqual([]);
    expect(decide(places(2), { pool: { ...pool, max: 1 } }).unmet).toHaveLength(1);
  });

  test('waits like all others while its pool is stopped', () => {
    expect(decide(places(2), { pool: { ...pool, max: 0 } }).unmet).toEqual([]);
  });
});

describe('shared memory', () => {
  test('that the sandbox has anyway is no reason for another', () => {
    expect(decide({ shmBytes: 64 * mebibyte }).amounts).toEqual({ shmBytes: 64 * mebibyte });
    expect(raiseAmounts(fakeTemplate(), { shmBytes: 64 * mebibyte })).toEqual(fakeTemplate());
  });

  test('counts within the memory, so a task that demands only it gets as much more memory', () => {
    expect(decide({ shmBytes: 2 * gibibyte }).amounts).toEqual({
      shmBytes: 2 * gibibyte,
      memoryBytes: 2 * gibibyte + fakeTemplate().memory.limitBytes,
    });
  });

  test('needs no ceiling of its own, because it counts within the memory', () => {
    const { unmet } = decide({ shmBytes: 65 * gibibyte });
    expect(unmet).toMatchObject([{ requirement: 'memory' }]);
  });

  test.each([
    [gibibyte, 2 * gibibyte],
    [4 * gibibyte, 4 * gibibyte],
  ])('next to a demand of %d bytes of memory leaves it at least as large: %d', (memoryBytes, given) => {
    expect(decide({ shmBytes: 2 * gibibyte, memoryBytes }).amounts).toMatchObject({ memoryBytes: given });
  });
});

describe('on a machine where files take memory', () => {
  const machine = { memoryBytes: 8 * gibibyte, cpuMilli: 4_000, diskIsMemory: true } as const;
  const onMachine = (required: Amounts, given: Partial<Environment> = {}) =>
    decide(required, { ceilings: { operator: {}, machine }, ...given });

  test.each([[{ memoryBytes: 4 * gibibyte }], [{ diskBytes: 4 * gibibyte }]])(
    'a task that demands more than its environment has, %j, gets its disk on top of its memory',
    (required) => {
      const { amounts } = onMachine(required);
      expect(amounts).toMatchObject({ diskIsMemory: true });
      expect(raiseAmounts(fakeTemplate(), amounts)).toMatchObject({ diskApart: true });
    },
  );

  test.each([[{ cpuMilli: 2_000 }], [{ memoryBytes: mebibyte, diskBytes: mebibyte }]])(
    'a task that demands neither, or what its environment has, %j, is as everywhere',
    (required) => {
      const { amounts } = onMachine(required);
      expect(amounts).toEqual(required);
      expect(raiseAmounts(fakeTemplate(), amounts)).not.toHaveProperty('diskApart');
    },
  );

  test('memory and disk that the machine cannot give together are refused', () => {
    const { amounts, unmet } = onMachine({ memoryBytes: 5 * gibibyte, diskBytes: 5 * gibibyte });
    expect(amounts).toEqual({});
    expect(unmet).toMatchObject([
      {
        requirement: 'disk',
        wanted: 'the task demands 10240 MiB of memory and disk together',
        given: 'files take memory on this machine, which has 8192 MiB',
      },
    ]);
  });

  test.each([[{ memoryBytes: 4 * gibibyte }], [{ memoryBytes: 4 * gibibyte, diskBytes: 6 * gibibyte }]])(
    'memory that leaves no room for the disk of the environment holds files as well: %j',
    (required) => {
      const template = fakeTemplate({ diskBytes: 6 * gibibyte });
      expect(onMachine(required, { template })).toEqual({ amounts: required, unmet: [] });
    },
  );

  test('a grader that the machine cannot give a sandbox is refused with its task', () => {
    const graderTemplate = fakeTemplate({ role: 'grader', diskBytes: 7 * gibibyte });
    const required = { memoryBytes: 2 * gibibyte, diskBytes: gibibyte };
    expect(onMachine(required).unmet).toEqual([]);
    expect(onMachine(required, { graderTemplate }).unmet).toMatchObject([{ requirement: 'disk' }]);
  });
});

describe('the row of a task', () => {
  test.each([
    [{ memory: '2Gi' }, { memoryBytes: 2 * gibibyte }],
    [
      { memory: '2000M', cores: 2 },
      { memoryBytes: 2_000_000_000, cpuMilli: 2_000 },
    ],
    [
      { memory: '0.5Gi', cores: '1500m' },
      { memoryBytes: gibibyte / 2, cpuMilli: 1_500 },
    ],
    [{ memory: null, cores: '' }, {}],
    [{ id: 'task' }, {}],
  ])('demands what its fields say: %j', (row, amounts) => {
    expect(ofRow(row)).toEqual({ amounts, unmet: [] });
  });

  test('counts where it demands more than the trainer, and the trainer where that demands more', () => {
    const required = { memoryBytes: gibibyte, cpuMilli: 4_000 };
    expect(ofRow({ memory: '2Gi', cores: 2 }, required).amounts).toEqual({
      memoryBytes: 2 * gibibyte,
      cpuMilli: 4_000,
    });
  });

  test.each([
    ['memory', 4_096],
    ['memory', '4096'],
    ['memory', '4GB'],
    ['memory', 'much'],
    ['memory', '-1Gi'],
    ['memory', ['4Gi']],
    ['cores', 0],
    ['cores', -1],
    ['cores', '2 cores'],
    ['cores', true],
  ])('is refused where %s is %j, which is no amount with its unit', (field, value) => {
    const message = expect.stringMatching(new RegExp(`item field ${field}, .* not an amount with its unit`));
    expect(() => ofRow({ [field]: value })).toThrow(
      expect.objectContaining({ code: 'invalid_request', message }),
    );
  });

  test('that is missing is asked for', () => {
    expect(() => decideAmounts(fakeEnvironment({ demands }), null)).toThrow(
      expect.objectContaining({ code: 'item_missing', evidence: { field: 'memory' } }),
    );
  });
});

describe('a template', () => {
  test('gets its limits raised, and requests more of a machine in the author’s ratio', () => {
    const amounts = { memoryBytes: gibibyte, cpuMilli: 4_000, diskBytes: 2 * gibibyte, shmBytes: gibibyte };
    expect(raiseAmounts(fakeTemplate(), amounts)).toEqual(
      fakeTemplate({
        memory: { requestBytes: gibibyte / 4, limitBytes: gibibyte },
        cpu: { requestMilli: 400, limitMilli: 4_000 },
        diskBytes: 2 * gibibyte,
        shmBytes: gibibyte,
      }),
    );
  });

  test('that requests all of its memory still does, to the byte', () => {
    const whole = fakeTemplate({ memory: { requestBytes: 700_000_001, limitBytes: 700_000_001 } });
    const raised = { requestBytes: 3 * 2 ** 32, limitBytes: 3 * 2 ** 32 };
    expect(raiseAmounts(whole, { memoryBytes: 3 * 2 ** 32 }).memory).toEqual(raised);
  });

  test('that has as much is the same', () => {
    const template = fakeTemplate();
    expect(raiseAmounts(template, { memoryBytes: mebibyte, cpuMilli: 250 })).toBe(template);
  });
});
