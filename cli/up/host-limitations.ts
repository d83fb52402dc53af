import { Client } from 'undici';
import { Value } from 'typebox/value';
import { LimitationsAnswer } from '#src/protocol/node/wire.ts';

/** What this host cannot enforce, in node's own sentences. */
export async function askHostLimitations(nodeSocket: string): Promise<readonly string[]> {
  const client = new Client('http://node', { socketPath: nodeSocket });
  try {
    const { body } = await client.request({ method: 'GET', path: '/limitations' });
    return Value.Parse(LimitationsAnswer, await body.json()).limitations;
  } finally {
    await client.destroy();
  }
}
