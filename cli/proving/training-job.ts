import { type Static, Type } from 'typebox';
import type { Connection } from '../gateway/connection.ts';
import type { HttpClient } from '../gateway/http-client.ts';
import { askNative } from '../gateway/native-client.ts';

const Headers = Type.Record(Type.String(), Type.String());

const TrainingJob = Type.Object({
  tools: Type.Array(Type.Object({ name: Type.String(), server_url: Type.String(), headers: Headers })),
  grader: Type.Union([
    Type.Object({ type: Type.Literal('endpoint'), url: Type.String(), headers: Headers }),
    Type.Null(),
  ]),
  functions: Type.Array(
    Type.Object({
      type: Type.Literal('function'),
      function: Type.Object({
        name: Type.String(),
        description: Type.String(),
        parameters: Type.Record(Type.String(), Type.Unknown()),
      }),
    }),
  ),
});
/** The exact `tools` and `grader` of a training job (null: the trainer's own), and the functions that the model is shown. */
export type TrainingJob = Static<typeof TrainingJob>;

/** As the gateway tells it, with the address and key that reached it: it cannot know how it looks from outside. */
export async function askTrainingJob(
  client: HttpClient,
  environment: string,
  connection: Connection,
): Promise<TrainingJob> {
  const path = `/v1/environments/${encodeURIComponent(environment)}/tools`;
  const job = await askNative(client, { method: 'GET', path }, TrainingJob);
  const seenAt = (url: string) => `${connection.url}${new URL(url).pathname}`;
  const headers = {
    authorization: `Bearer ${connection.key}`,
    ...(connection.run === null ? {} : { 'x-corral-run': connection.run }),
  };
  return {
    tools: job.tools.map(({ name, server_url }) => ({ name, server_url: seenAt(server_url), headers })),
    grader: job.grader && { type: 'endpoint', url: seenAt(job.grader.url), headers },
    functions: job.functions,
  };
}
