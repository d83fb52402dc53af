import type { Dispatcher, Pool } from 'undici';
import { Compile } from 'typebox/compile';
import { Failure } from '#src/failure/failure.ts';
import { NodeErrorBody } from '#src/protocol/node/wire.ts';

/** Requests to node whose failures are already {@link Failure}s. */
export type Ask = {
  send(method: 'PUT' | 'DELETE', path: string, body?: object): Promise<void>;
  read<Answer>(path: string, check: Check<Answer>): Promise<Answer>;
};

/** A compiled schema: a list of two hundred sandboxes is checked by one in a hundredth of the time that the schema takes. */
export type Check<Answer> = { Check(value: unknown): value is Answer };

const errorCheck = Compile(NodeErrorBody);

/** Node answers at once or is stuck; a caller asks again rather than waits. */
const answerTimeoutMs = 10_000;

export function createAsk(pool: Pool, socketPath: string): Ask {
  const request = async (method: Dispatcher.HttpMethod, path: string, body?: object) => {
    try {
      const answer = await pool.request({
        method,
        path,
        signal: AbortSignal.timeout(answerTimeoutMs),
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      return { status: answer.statusCode, text: await answer.body.text() };
    } catch (thrown) {
      throw unreachable(socketPath, thrown);
    }
  };
  return {
    send: async (method, path, body) => {
      const { status, text } = await request(method, path, body);
      if (status >= 300) throw refused(status, text);
    },
    read: async (path, check) => {
      const { status, text } = await request('GET', path);
      const value = status === 200 ? parse(text) : undefined;
      if (value !== undefined && check.Check(value)) return value;
      throw refused(status, text);
    },
  };
}

/** Node could not be asked: it may be starting, or gone together with its sandboxes. */
function unreachable(socketPath: string, thrown: unknown): Failure {
  const detail = thrown instanceof Error ? thrown.message : String(thrown);
  return new Failure('provider_unavailable', `node does not answer at ${socketPath}: ${detail}`, {
    cause: thrown,
    evidence: { socketPath, detail },
    retryAfterMs: 1000,
  });
}

/** Node's own refusal. One that is no answer of this protocol is ours to mend, and `unclassified` says so. */
function refused(status: number, text: string): Failure {
  const body = parse(text);
  const error = errorCheck.Check(body) ? body.error : null;
  if (error === null || error.code === 'invalid_request') {
    const said = error?.message ?? text.slice(0, 200);
    return new Failure('unclassified', `node did not understand us: ${said}`, { evidence: { status } });
  }
  return new Failure(error.code, error.message, { evidence: { status } });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
