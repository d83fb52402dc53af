import { expect, test } from 'vitest';
import { expectFailure } from '#test/support/faces.ts';
import { sharedFleet } from '#test/support/shared-fleet.ts';

const corral = sharedFleet();

const tooLarge = {
  code: 'payload_too_large',
  blame: 'caller',
  admitted: 'no',
  retryable: false,
  tainted: false,
} as const;

const twoMegabytes = JSON.stringify({ trace_id: 'trace_1', padding: 'x'.repeat(2_000_000) });

test('a body of 2 MB: 413, on the RFT face 500, and the next request is served', async () => {
  expectFailure(await corral.raw('/rft/shell/tools/shell', twoMegabytes), { ...tooLarge, status: 500 });
  expectFailure(await corral.raw('/rft/shell/grade', twoMegabytes), { ...tooLarge, status: 500 });
  expectFailure(await corral.raw('/v1/rollouts', twoMegabytes), { ...tooLarge, status: 413 });
  expect((await corral.rft.call({ trace: 't', call: 'c', command: 'echo hi' })).status).toBe(200);
});
