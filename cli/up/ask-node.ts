import type { Static, TSchema } from 'typebox';
import { Client } from 'undici';
import { Value } from 'typebox/value';
import type { DataState } from '#src/protocol/node/parts.ts';
import { DataAnswer, LimitationsAnswer } from '#src/protocol/node/wire.ts';

/** Data that environments' programs make here, and how far each is. */
export const askData = async (nodeSocket: string): Promise<readonly DataState[]> =>
  (await ask(nodeSocket, '/data', DataAnswer)).data;

/** What this host cannot enforce, in node's own sentences. */
export const askHostLimitations = async (nodeSocket: string): Promise<readonly string[]> =>
  (await ask(nodeSocket, '/limitations', LimitationsAnswer)).limitations;

async function ask<Schema extends TSchema>(
  socketPath: string,
  path: string,
  schema: Schema,
): Promise<Static<Schema>> {
  const client = new Client('http://node', { socketPath });
  try {
    const { body } = await client.request({ method: 'GET', path });
    return Value.Parse(schema, await body.json());
  } finally {
    await client.destroy();
  }
}
