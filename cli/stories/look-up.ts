import { readEvents } from '../../src/adapters/event-log/read-events.ts';
import { CommandError } from '../command-error.ts';
import { findConnection } from '../gateway/connection.ts';
import type { ConnectionOptions } from '../gateway/connection.ts';
import { createHttpClient, isUnreachable } from '../gateway/http-client.ts';
import type { HttpClient } from '../gateway/http-client.ts';
import { NotKnown } from '../gateway/native-client.ts';
import { defaultStateFolder, stateFolderAt } from '../fleet/state-folder.ts';
import type { ToldLog } from './read-log.ts';
import { storiesOfEvents } from './stories-of-events.ts';
import type { RolloutStory } from '../../src/reports/rollout-story.ts';

/** What a reading command wants to know, from the fleet or from what the event log tells; null = not there. */
export type Question<Answer> = {
  readonly ofFleet: (client: HttpClient) => Promise<Answer>;
  readonly ofStories: (stories: readonly RolloutStory[]) => Answer | null;
};

/**
 * Asks the fleet; where it has forgotten, does not answer or was never named, what the event log tells. Throws
 * the fleet's own error when the log knows nothing either.
 */
export async function lookUp<Answer>(
  question: Question<Answer>,
  options: ConnectionOptions,
  variables: Readonly<Record<string, string | undefined>>,
  log: () => Promise<Pick<ToldLog, 'stories'>>,
): Promise<Answer> {
  try {
    return await askFleet(question, options, variables);
  } catch (error) {
    if (!(error instanceof NotKnown || error instanceof NoFleet || isUnreachable(error))) throw error;
    const { stories } = await log();
    const answer = stories.length === 0 ? null : question.ofStories(stories);
    if (answer === null) throw error;
    return answer;
  }
}

/** Every rollout that the event log in the state folder tells of; none where there is no log. */
export const storiesInFolder =
  ({ state = defaultStateFolder }: ConnectionOptions) =>
  async () => ({
    stories: storiesOfEvents(await Array.fromAsync(readEvents(stateFolderAt(state).events))),
  });

async function askFleet<Answer>(
  question: Question<Answer>,
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
