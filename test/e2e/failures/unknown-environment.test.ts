import { test } from 'vitest';
import { expectFailure } from '#test/support/faces.ts';
import { sharedFleet } from '#test/support/shared-fleet.ts';

const corral = sharedFleet();

const unknown = {
  code: 'unknown_environment',
  blame: 'caller',
  admitted: 'no',
  retryable: false,
  tainted: false,
} as const;

test.each(['nothing', 'shell@0000000'])(
  'the environment %s: 404, on the RFT face 500',
  async (environment) => {
    const call = { trace: 'trace_1', call: 'c1', command: 'echo hi', environment };
    expectFailure(await corral.rft.call(call), { ...unknown, status: 500 });
    expectFailure(await corral.rft.grade({ trace: 'trace_1', environment }), { ...unknown, status: 500 });
    expectFailure(await corral.native.open('r', environment), { ...unknown, status: 404 });
  },
);
