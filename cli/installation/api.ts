import { type Answer, wordsOf } from '#src/adapters/kubernetes/api/answer.ts';
import { type Api, type ApiCall, createApi } from '#src/adapters/kubernetes/api/calls.ts';
import { createConnections } from '#src/adapters/kubernetes/api/connections.ts';
import { loadCredentials } from '#src/adapters/kubernetes/api/credentials.ts';
import { systemClock } from '#src/platform/clock.ts';
import { systemRandom } from '#src/platform/random.ts';
import { CommandError } from '../command-error.ts';

/** Small objects, one at a time. */
const answerTimeoutMs = 10_000;

/** Asks the API server that kubectl would ask, which in a pod is the cluster's own, and lets go of it at the end. */
export async function withApi<Result>(work: (api: Api) => Promise<Result>): Promise<Result> {
  const credentials = await loadCredentials(null, systemClock).catch((error: unknown) => {
    throw new CommandError(reasonOf(error), 'yours', 'set KUBECONFIG, or run it in a pod', error);
  });
  const connections = createConnections({
    server: credentials.server,
    answerTimeoutMs,
    watchSilenceMs: answerTimeoutMs,
  });
  const world = { clock: systemClock, random: systemRandom, onCall: () => undefined };
  try {
    return await work(createApi({ credentials, connections, ...world }));
  } finally {
    await connections.close();
  }
}

/** A call that may also be answered with one of `fine`, such as 409 where it was done before. Throws the server's words. */
export async function ask(api: Api, call: ApiCall, fine: readonly number[] = []): Promise<Answer> {
  const answer = await api.call(call).catch((error: unknown) => {
    throw new CommandError(reasonOf(error), 'the fleet', 'try again; nothing is done twice', error);
  });
  if (answer.status < 300 || fine.includes(answer.status)) return answer;
  const what = `${call.verb} ${call.path}`;
  throw new CommandError(`the API server refused to ${what}: ${wordsOf(answer).message}`, 'yours', nextStep);
}

const nextStep = 'the account that runs this needs the right to do it';

const reasonOf = (error: unknown) => (error instanceof Error ? error.message : String(error));
