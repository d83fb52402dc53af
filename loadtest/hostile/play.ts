import { request } from 'undici';
import { deliver, type Post } from '#demo/trainer/http.ts';
import { isObject, readObject, readScore } from '#demo/trainer/reading.ts';
import { sampleOf, type TrainingJob } from '#demo/trainer/training-job.ts';
import type { Clock } from '#src/ports/clock.ts';
import type { Random } from '#src/ports/random.ts';

/** How a rollout ended. `score` null: it was discarded, by what its verdict says. */
export type Ended = {
  readonly score: number | null;
  readonly why: string;
  readonly suspected: boolean;
};

export type HostileWorld = {
  readonly gatewayUrl: string;
  readonly apiKey: string;
  readonly run: string;
  readonly job: TrainingJob;
  readonly post: Post;
  readonly clock: Clock;
  readonly random: Random;
};

const readTimeoutMs = 10_000;

/** Sends the commands one after the other, as a platform does, and asks for the grade. */
export async function playCommands(
  world: HostileWorld,
  rollout: string,
  commands: readonly string[],
): Promise<Ended> {
  const [tool] = world.job.tools;
  if (tool === undefined) throw new RangeError('the training job has no tool');
  const { grader } = world.job;
  const common = { trace_id: rollout, item: { id: rollout } };
  for (const [index, command] of commands.entries()) {
    const callId = `call_${index}`;
    const use = { name: tool.name, arguments: JSON.stringify({ command }) };
    const body = { type: 'function_call', id: `fc_${index}`, call_id: callId, ...use, ...common };
    const sent = () => world.post(tool.server_url, tool.headers, JSON.stringify(body));
    if ((await deliver(sent, world)).kind === 'gave_up') return discarded(world, rollout);
  }
  const body = JSON.stringify({ sample: sampleOf('', []), ...common });
  const graded = await deliver(() => world.post(grader.url, grader.headers, body), world);
  const score = graded.kind === 'answered' ? readScore(graded.reply) : null;
  return score === null ? discarded(world, rollout) : { score, why: 'scored', suspected: false };
}

/** By the fleet's own record: an answer to a trainer has no mark. */
async function discarded({ gatewayUrl, apiKey, run }: HostileWorld, rollout: string): Promise<Ended> {
  const { body } = await request(`${gatewayUrl}/v1/rollouts/${encodeURIComponent(rollout)}/verdict`, {
    headers: { authorization: `Bearer ${apiKey}`, 'x-corral-run': run },
    signal: AbortSignal.timeout(readTimeoutMs),
  });
  const story = readObject(await body.text());
  const { code, cause, suspected } = fieldsOf(story?.['verdict']);
  const { limits } = fieldsOf(fieldsOf(story?.['discard'])['evidence']);
  const words = [code, cause, limits].filter((word) => typeof word === 'string');
  return { score: null, why: words.join(' ') || 'no verdict', suspected: typeof suspected === 'string' };
}

const fieldsOf = (value: unknown) => (isObject(value) ? value : {});
