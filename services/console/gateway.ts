import type { Static, TSchema } from 'typebox';
import { Value } from 'typebox/value';
import { CommandError } from '#cli/command-error.ts';
import { createHttpClient, type HttpClient } from '#cli/gateway/http-client.ts';
import { Failure } from '#src/failure/failure.ts';
import { ErrorAnswer } from '#src/protocol/native/parts.ts';

/** The gateway refused: the console's own caller gets the same status and body. */
export class GatewayRefusal extends Error {
  readonly status: number;
  readonly body: Static<typeof ErrorAnswer>;

  constructor(status: number, body: Static<typeof ErrorAnswer>) {
    super(body.error.message);
    this.name = 'GatewayRefusal';
    this.status = status;
    this.body = body;
  }
}

/** Reads from a gateway what one key may read; the console has no rights of its own. */
export type Gateway = {
  ask<Schema extends TSchema>(path: string, schema: Schema, run?: string): Promise<Static<Schema>>;
  /** As {@link ask}; null if the fleet has forgotten it. */
  find<Schema extends TSchema>(path: string, schema: Schema, run?: string): Promise<Static<Schema> | null>;
  readonly client: HttpClient;
  close(): Promise<void>;
};

/** People wait for it. */
const answerMs = 10_000;

export function connectGateway(url: string, key: string): Gateway {
  const client = createHttpClient({ url, key, run: null });
  const ask = async <Schema extends TSchema>(
    path: string,
    schema: Schema,
    run?: string,
  ): Promise<Static<Schema>> => {
    const named = run === undefined ? {} : { run };
    const request = { method: 'GET' as const, path, deadlineMs: answerMs, ...named };
    const { status, body } = await client.send(request).catch(notAnswering);
    return answerIn(status, parse(body), schema);
  };
  return {
    ask,
    find: (path, schema, run) => ask(path, schema, run).catch(nullIfForgotten),
    client,
    close: () => client.close(),
  };
}

function answerIn<Schema extends TSchema>(status: number, body: unknown, schema: Schema): Static<Schema> {
  if (status === 200 && Value.Check(schema, body)) return body;
  if (Value.Check(ErrorAnswer, body)) throw new GatewayRefusal(status, body);
  throw new Failure('state_unavailable', `the gateway answered ${status} with something unexpected`);
}

function notAnswering(thrown: unknown): never {
  if (!(thrown instanceof CommandError)) throw thrown;
  throw new Failure('state_unavailable', thrown.message, { cause: thrown });
}

function nullIfForgotten(thrown: unknown): null {
  if (thrown instanceof GatewayRefusal && thrown.status === 404) return null;
  throw thrown;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
