import { expect, test } from 'vitest';
import { expectFailure } from '#test/support/faces.ts';
import { sharedFleet } from '#test/support/shared-fleet.ts';

const corral = sharedFleet();

const invalid = {
  code: 'invalid_request',
  blame: 'caller',
  admitted: 'no',
  retryable: false,
  tainted: false,
} as const;

test.each([
  ['no JSON', 'not json'],
  ['no object', '[1]'],
  ['without its fields', '{}'],
  ['cut off', '{"call_id":"c1"'],
])('a body that is %s: 400, on the RFT face 500', async (_name, body) => {
  expectFailure(await corral.raw('/rft/shell/tools/shell', body), { ...invalid, status: 500 });
  expectFailure(await corral.raw('/rft/shell/grade', body), { ...invalid, status: 500 });
  expectFailure(await corral.raw('/v1/rollouts', body), { ...invalid, status: 400 });
});

test('an address that does not exist: 400, on the RFT face 500', async () => {
  expectFailure(await corral.native.get('/v1/nothing'), { ...invalid, status: 400 });
  expectFailure(await corral.native.get('/rft/shell/nothing'), { ...invalid, status: 500 });
});

test('arguments of the wrong type are the model’s: 200 with text on both faces', async () => {
  const rft = await corral.rft.call({ trace: 'trace_1', call: 'c1', arguments: '{"command":7}' });
  expect(rft).toMatchObject({ status: 200, body: { output: expect.stringContaining('bad arguments') } });
  await corral.native.open('r1');
  const call = { call_id: 'c1', name: 'shell', arguments: 'no json either' };
  const native = await corral.native.post('/v1/rollouts/r1/calls', call);
  expect(native).toMatchObject({ status: 200, body: { outcome: 'refused', code: 'bad_arguments' } });
});

test('a command that must run as root, where commands do not: 400, and nothing has run; where they do, it does', async () => {
  const command = { call_id: 'c1', argv: ['id', '-u'], user: 'root' };
  await corral.native.open('user');
  const refused = await corral.native.post('/v1/rollouts/user/exec', command);
  expectFailure(refused, { ...invalid, status: 400 });
  expect(await corral.native.get('/v1/rollouts/user')).toMatchObject({ body: { calls: [] } });
  await corral.native.open('root', 'rooted');
  expect(await corral.native.post('/v1/rollouts/root/exec', command)).toMatchObject({
    status: 200,
    body: { exit_code: 0, stdout: '0\n' },
  });
});
