import { CommandError } from '../command-error.ts';
import { type ConnectionOptions, findConnection } from '../gateway/connection.ts';
import { createHttpClient, type HttpClient, isUnreachable, NotKnown } from '../gateway/http-client.ts';

/** What a reading command wants to know, from the fleet or from what the event log tells; null = not there. */
export type Question<Answer, Log> = {
  readonly ofFleet: (client: HttpClient) => Promise<Answer>;
  readonly ofLog: (log: Log) => Answer | null;
};

/**
 * Asks the fleet; where it has forgotten, does not answer or was never named, what the event log tells. Throws
 * the fleet's own error when the log knows nothing either.
 */
export async function lookUp<Answer, Log>(
  question: Question<Answer, Log>,
  options: ConnectionOptions,
  variables: Readonly<Record<string, string | undefined>>,
  log: () => Promise<Log>,
): Promise<Answer> {
  try {
    return await askFleet(question, options, variables);
  } catch (error) {
    if (!(error instanceof NotKnown || error instanceof NoFleet || isUnreachable(error))) throw error;
    const answer = question.ofLog(await log());
    if (answer === null) throw error;
    return answer;
  }
}

async function askFleet<Answer>(
  question: Pick<Question<Answer, never>, 'ofFleet'>,
  options: ConnectionOptions,
  variables: Readonly<Record<string, string | undefined>>,
): Promise<Answer> {
  const connection = findConnection(options, variables);
  if (connection === null) throw new NoFleet();
  const client = createHttpClient(connection);
  try {
    return await question.ofFleet(client);
  } finally {
    await client.close();
  }
}

class NoFleet extends CommandError {
  constructor() {
    const next = 'start one with "corral up", or name one with --url and --key';
    super('no fleet runs on this state folder, and its event log is empty', 'yours', next);
  }
}
