import { Type } from 'typebox';
import { expect, test } from 'vitest';
import { askNative, type HttpClient } from './http-client.ts';

const common = { rollout_id: 'r', admitted: 'no', retryable: false, tainted: true };

/** A gateway that refuses every request so. */
const refusing = (error: object): HttpClient => ({
  send: async () => ({ status: 503, body: JSON.stringify({ error: { ...common, ...error } }), tookMs: 1 }),
  lines: async () => null,
  close: async () => undefined,
});

test.each([
  ['the cause of a lost sandbox', { cause: 'evicted' }, 'it is gone (sandbox_lost, evicted)'],
  [
    'the limit that was used up',
    { cause: 'node_limit_used_up', limits: 'pipe_memory' },
    'it is gone (sandbox_lost, node_limit_used_up, pipe_memory)',
  ],
  ['the demand that is not met', { requirement: 'disk' }, 'disk: it is gone (sandbox_lost)'],
  ['the code alone if that is all', {}, 'it is gone (sandbox_lost)'],
])('a refusal names %s', async (_, evidence, expected) => {
  const client = refusing({ code: 'sandbox_lost', blame: 'infrastructure', message: 'it is gone', evidence });
  const asked = askNative(client, { method: 'GET', path: '/v1/rollouts/r' }, Type.Object({}));
  await expect(asked).rejects.toMatchObject({ message: expected });
});
