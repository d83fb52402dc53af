import type { Static, TSchema } from 'typebox';
import { Value } from 'typebox/value';
import { CommandError } from '../command-error.ts';
import { ErrorAnswer } from '#src/protocol/native/error.ts';
import { visibleLine } from '../print/visible.ts';
import type { HttpAnswer, HttpClient, HttpRequest } from './http-client.ts';

/** A 404 of the gateway: it knows no such thing (any more). */
export class NotKnown extends CommandError {}

/** Sends and checks the answer against its schema. Throws a CommandError for everything but 2xx. */
export async function askNative<Schema extends TSchema>(
  client: HttpClient,
  request: HttpRequest,
  schema: Schema,
): Promise<Static<Schema>> {
  const answer = await client.send(request);
  const body = parse(answer);
  if (answer.status >= 300) throw refusal(request, answer, body);
  if (Value.Check(schema, body)) return body;
  throw notOurs(request, answer);
}

function refusal(request: HttpRequest, answer: HttpAnswer, body: unknown): CommandError {
  if (!Value.Check(ErrorAnswer, body)) return notOurs(request, answer);
  const { code, message, blame, retryable } = body.error;
  const said = visibleLine(`${message} (${code})`);
  if (code === 'unauthorized') {
    return new CommandError(said, 'yours', 'give a valid key with --key or CORRAL_KEY; see "corral keys"');
  }
  if (answer.status === 404) return new NotKnown(said, 'yours', 'check the name, and the run with --run');
  if (blame === 'caller') return new CommandError(said, 'yours', 'correct the request');
  return new CommandError(said, 'the fleet', retryable ? 'try again' : 'look at its logs and /readyz');
}

/** Somebody else speaks at that address, or something in between answers for the gateway. */
function notOurs({ method, path }: HttpRequest, { status, body }: HttpAnswer): CommandError {
  const start = body.slice(0, 120).replaceAll(/\s+/g, ' ');
  const said = `${method} ${path} answered ${status} with something that is not Corral's: ${start}`;
  return new CommandError(said, 'this machine', 'check --url, and what proxy stands before the gateway');
}

function parse({ body }: HttpAnswer): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return null;
  }
}
