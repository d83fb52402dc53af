import { runId } from '#src/model/ids.ts';
import { systemClock } from '#src/platform/clock.ts';
import type { Connection } from '../gateway/connection.ts';
import { eachOf, patiently } from '../proving/play.ts';
import { readLoss, readOutput, readScore } from '../proving/read-answers.ts';
import type { Row } from '../proving/rows.ts';
import { onStage, type Proof } from '../proving/stage.ts';
import { type TrainedRollout, trainRollout } from '../proving/training-job.ts';
import { type AskedCall, type Endpoint, EndpointFailed, type Message, type Reply } from './chat-endpoint.ts';
import { copiesOf, type Playing, traceIdOf } from './play-policies.ts';
import { withParts } from './read-run.ts';
import { itemName, type StudiedRollout, type Subject } from './rollout.ts';
import type { CountTokens } from './tokens.ts';
import { type Recording, recording } from './wire-record.ts';

export type ModelPlay = Playing & {
  readonly model: string;
  readonly endpoint: Endpoint;
  /** The model's prompt for a row. */
  readonly prompt: (row: Row) => readonly Message[];
  /** Replies of one rollout. */
  readonly turns: number;
  /** Of all rollouts together, read and written; none is begun after that. */
  readonly tokenBudget: number;
};

export type ModelPlayed = { readonly subject: Subject; readonly missing: readonly string[] };

/** Lets a model play each row several times, through the addresses of a training platform. */
export async function playModel(connection: Connection, play: ModelPlay): Promise<ModelPlayed> {
  const stage = { environment: play.environment, purpose: 'study' };
  return onStage(connection, stage, async (proof) => {
    const recorded = recording(proof.client, play.countTokens, () => systemClock.monotonicMs());
    const spent = { tokens: 0, cut: 0, unplayed: 0 };
    const played = await eachOf(copiesOf(play, 'model'), play.atOnce, async ({ row, id }) => {
      if (spent.tokens < play.tokenBudget)
        return new ModelRollout(play, proof, recorded, spent).play(row, id);
      spent.unplayed += 1;
      return null;
    });
    const subject = {
      name: play.model,
      what: 'model',
      rollouts: played.filter((one) => one !== null),
    } as const;
    const traceId = (id: string) => traceIdOf(proof.run, id);
    const of = { connection, run: runId(proof.run), known: play.known, traceIdOf: traceId };
    const [whole = subject] = await withParts([subject], of);
    return { subject: whole, missing: missingOf(spent, play, played.length) };
  });
}

type Spent = { tokens: number; cut: number; unplayed: number };

function missingOf(
  { cut, unplayed }: Spent,
  { model, tokenBudget }: ModelPlay,
  all: number,
): readonly string[] {
  return [
    ...(unplayed === 0
      ? []
      : [`${unplayed} of ${all} rollouts were not begun: ${tokenBudget} tokens were spent (--token-budget)`]),
    ...(cut === 0
      ? []
      : [`${cut} replies of ${model} were cut off (--max-tokens), and counted as they were`]),
  ];
}

type Ended = StudiedRollout['ended'];

/** One conversation: replies and calls in turn, until a reply makes no call; that is the answer. */
class ModelRollout {
  readonly #play: ModelPlay;
  readonly #proof: Proof;
  readonly #recorded: Recording;
  readonly #spent: Spent;
  readonly #messages: Message[] = [];
  #calls = 0;
  #written = 0;

  constructor(play: ModelPlay, proof: Proof, recorded: Recording, spent: Spent) {
    this.#play = play;
    this.#proof = proof;
    this.#recorded = recorded;
    this.#spent = spent;
  }

  async play(row: Row, id: string): Promise<StudiedRollout> {
    const traceId = traceIdOf(this.#proof.run, id);
    const rollout = trainRollout(this.#recorded.client, this.#proof.job, traceId, row.item);
    const startedMs = systemClock.monotonicMs();
    this.#messages.push(...this.#play.prompt(row));
    const ended = await this.#converse(rollout).catch(lostAtEndpoint);
    const { calls } = this.#recorded.take(traceId);
    // A model’s own time is part of a rollout’s.
    const tookMs = systemClock.monotonicMs() - startedMs;
    const item = itemName(row.item);
    return { id, item, calls, tookMs, parts: [], writtenTokens: this.#written, ended };
  }

  async #converse(rollout: TrainedRollout): Promise<Ended> {
    for (let turn = 1; turn <= this.#play.turns; turn += 1) {
      const reply = await this.#reply();
      if (reply.calls.length === 0) return grade(rollout, reply.text);
      this.#messages.push(assistantOf(reply));
      for (const asked of reply.calls) {
        const lost = await this.#call(rollout, asked);
        if (lost !== null) return lost;
      }
    }
    // A trainer would have another limit, so this is a loss of its own kind and not a zero.
    return { kind: 'lost', loss: { at: 'the study', code: 'turns_spent', blame: 'model' } };
  }

  async #reply(): Promise<Reply> {
    const reply = await this.#play.endpoint.reply(this.#messages, this.#proof.job.functions);
    const written = reply.written ?? writtenIn(reply, this.#play.countTokens);
    this.#written += written;
    this.#spent.tokens += reply.total ?? written;
    this.#spent.cut += reply.cut ? 1 : 0;
    return reply;
  }

  /** What went wrong on the fleet's side; null: the model got an answer, whatever it says. */
  async #call(rollout: TrainedRollout, asked: AskedCall): Promise<Ended | null> {
    const known = this.#proof.job.tools.map(({ name }) => name);
    if (!known.includes(asked.name)) {
      this.#answer(asked, `Error: there is no tool ${asked.name}. There is: ${known.join(', ')}.`);
      return null;
    }
    const number = (this.#calls += 1);
    const answer = await patiently(() => rollout.call(asked.name, asked.arguments, number));
    const output = readOutput(answer);
    if (output === null) return lostOf(readLoss(answer, asked.name));
    this.#answer(asked, output);
    return null;
  }

  #answer({ id }: AskedCall, content: string): void {
    this.#messages.push({ role: 'tool', tool_call_id: id, content });
  }
}

const assistantOf = ({ text, calls }: Reply): Message => ({
  role: 'assistant',
  content: text === '' ? null : text,
  tool_calls: calls.map(({ id, name, arguments: given }) => ({
    id,
    type: 'function',
    function: { name, arguments: given },
  })),
});

const writtenIn = ({ text, calls }: Reply, countTokens: CountTokens): number =>
  countTokens(text + calls.map(({ name, arguments: given }) => name + given).join(' '));

async function grade(rollout: TrainedRollout, text: string): Promise<Ended> {
  const graded = await patiently(() => rollout.grade(text));
  const score = readScore(graded);
  return typeof score === 'number' ? { kind: 'scored', score } : lostOf(readLoss(graded, 'the grader'));
}

const lostOf = ({ at, code, blame }: ReturnType<typeof readLoss>): Ended => ({
  kind: 'lost',
  loss: { at, code: code ?? 'not_ours', blame },
});

function lostAtEndpoint(error: unknown): Ended {
  if (!(error instanceof EndpointFailed)) throw error;
  return { kind: 'lost', loss: { at: 'the model’s endpoint', code: error.code, blame: 'the endpoint' } };
}
