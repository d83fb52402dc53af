import { deliver, type Delivery, type Post } from '#demo/trainer/http.ts';
import { discardOf, readScore, shownText } from '#demo/trainer/reading.ts';
import type { Discard, Ending } from '#demo/trainer/record.ts';
import { type MadeCall, sampleOf, type TrainingJob } from '#demo/trainer/training-job.ts';
import type { Clock } from '#src/ports/clock.ts';
import type { Random } from '#src/ports/random.ts';
import { commandOf, type Work } from './evidence.ts';
import type { CallTruth, RolloutTruth } from './truth.ts';

/** A rollout with everything decided beforehand; times are those that will be played. */
export type Script = {
  readonly rollout: string;
  readonly item: { readonly id: string };
  readonly steps: readonly { readonly thinkMs: number; readonly calls: readonly Work[] }[];
  readonly cancelled: boolean;
  /** What the policy says in the end; nothing where it is left out. */
  readonly answer?: string;
  /** JSON text. For a tool that runs no command: every call is made with these, and leaves no evidence. */
  readonly fixedArguments?: string;
  readonly client: {
    /** The client hangs up after this and tries again. */
    readonly timeoutMs: number;
    readonly jitter: boolean;
    /** A retry carries a call id of its own. */
    readonly freshIds: boolean;
  };
};

export type PlayWorld = {
  /** One for each gateway: every try takes the next, as behind a load balancer. At least one. */
  readonly jobs: readonly [TrainingJob, ...TrainingJob[]];
  readonly post: Post;
  readonly clock: Clock;
  /** For ids and back-off. */
  readonly random: Random;
  /** The beginning of the load test on the monotonic clock. */
  readonly startMs: number;
  /** Aborted when the time is up: what runs ends, then the grade. */
  readonly stopping: AbortSignal;
  /** Told when a rollout has calls under way and when it has none. */
  readonly onCalling: (rollout: string, calling: boolean) => void;
};

/** Plays one rollout as a platform does: steps, then the grader, whose word is a veto. Rejects only on our own bugs. */
export async function playRollout(script: Script, world: PlayWorld): Promise<RolloutTruth> {
  const calls: CallTruth[] = [];
  const startedMs = nowMs(world);
  const discard = await playSteps(script, world, calls);
  const ending =
    discard ?? (script.cancelled ? ({ kind: 'cancelled' } as const) : await grade(script, world, calls));
  const { rollout, item } = script;
  return { rollout, group: item.id, startedMs, endedMs: nowMs(world), calls, ending };
}

const nowMs = ({ clock, startMs }: PlayWorld): number => clock.monotonicMs() - startMs;

/** All calls of a step go out at once; one that cannot be delivered ends the rollout when the others are in. */
async function playSteps(script: Script, world: PlayWorld, calls: CallTruth[]): Promise<Discard | null> {
  for (const step of script.steps) {
    if (world.stopping.aborted) return null;
    await world.clock.sleep(step.thinkMs, world.stopping);
    world.onCalling(script.rollout, true);
    const played = await Promise.all(step.calls.map((work) => playCall(script, world, work)));
    world.onCalling(script.rollout, false);
    calls.push(...played.map(({ truth }) => truth));
    const discarded = played.find(({ discard }) => discard !== null);
    if (discarded !== undefined) return discarded.discard;
  }
  return null;
}

async function playCall(script: Script, world: PlayWorld, work: Work) {
  const ids: string[] = [];
  const sentMs = nowMs(world);
  const delivery = await send(script, world, ({ tools: [tool] }) => {
    if (tool === undefined) throw new RangeError('the training job has no tool');
    if (ids.length === 0 || script.client.freshIds) ids.push(`call_${world.random.text(16)}`);
    const id = ids.at(-1) ?? '';
    const used = script.fixedArguments ?? JSON.stringify({ command: commandOf(id, work) });
    return {
      to: { url: tool.server_url, headers: tool.headers },
      body: bodyOf(script, id, { name: tool.name, arguments: used }),
    };
  });
  const { text, leaked } =
    delivery.kind === 'answered'
      ? shownText(delivery.reply, ids.at(-1) ?? '')
      : { text: null, leaked: false };
  const { mischief } = work;
  const truth: CallTruth = { ids, mischief, sentMs, endedMs: nowMs(world), shown: text, leaked };
  return { truth, discard: delivery.kind === 'gave_up' ? discardOf(delivery, 'tool call') : null };
}

/** The grader counts the lines of the evidence file. */
async function grade(script: Script, world: PlayWorld, calls: readonly CallTruth[]): Promise<Ending> {
  const name = world.jobs[0].tools[0]?.name ?? '';
  const made = calls.flatMap(({ ids, shown }) =>
    shown === null ? [] : ids.slice(-1).map((callId) => ({ callId, use: { name, arguments: '{}' } })),
  );
  const sample = sampleOf(script.answer ?? '', made);
  const body = JSON.stringify({ sample, item: script.item, trace_id: script.rollout });
  const delivery = await send(script, world, (job) => ({ to: graderOf(job), body }));
  if (delivery.kind === 'gave_up') return discardOf(delivery, 'grader');
  const score = readScore(delivery.reply);
  const message = `the grader answered ${delivery.reply.status}: ${delivery.reply.body.slice(0, 200)}`;
  return score === null
    ? { kind: 'discarded', code: 'unreadable_answer', cause: null, at: 'grader', message }
    : { kind: 'scored', score };
}

type Sending = { readonly to: Endpoint; readonly body: string };
type Endpoint = { readonly url: string; readonly headers: Readonly<Record<string, string>> };

/** Three retries after 5xx, a lost connection, or the client's own timeout. */
function send(script: Script, world: PlayWorld, next: (job: TrainingJob) => Sending): Promise<Delivery> {
  const { timeoutMs, jitter } = script.client;
  const random: Random = jitter ? world.random : { ...world.random, next: () => 1 };
  let turn = Math.floor(world.random.next() * world.jobs.length);
  const once = () => {
    const { to, body } = next(world.jobs[turn % world.jobs.length] ?? world.jobs[0]);
    turn += 1;
    return world.post(to.url, to.headers, body, timeoutMs);
  };
  return deliver(once, { clock: world.clock, random });
}

const graderOf = ({ grader }: TrainingJob): Endpoint => ({ url: grader.url, headers: grader.headers });

const bodyOf = (script: Script, callId: string, use: MadeCall['use']): string =>
  JSON.stringify({
    type: 'function_call',
    id: callId.replace('call_', 'fc_'),
    call_id: callId,
    ...use,
    item: script.item,
    trace_id: script.rollout,
  });
