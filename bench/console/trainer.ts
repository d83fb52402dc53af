import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, request } from 'undici';
import type { PlayedProcesses } from '../played-processes.ts';

const callsOfRollout = 40;
const row = { id: 'task', answer: 'yes', text: 'x'.repeat(2_000) };
/** As long as commands of coding tasks are. */
const command = (call: number) => `sed -n 1,80p src/${call}.ts # ${'c'.repeat(150)}`;

type Step = {
  readonly environment: string;
  readonly run: string;
  readonly callsPerSecond: number;
  readonly windowMs: number;
};

/** Plays rollouts of forty calls over the RFT face at a steady rate, and has each graded. */
export class Trainer {
  readonly #played: PlayedProcesses;
  readonly #agent = new Agent({ connections: null, headersTimeout: 0, bodyTimeout: 0 });
  #named = 0;

  constructor(played: PlayedProcesses) {
    this.#played = played;
  }

  /** Resolves to the milliseconds of each call but the first of a rollout, which waits for a sandbox, when all are graded. */
  async play({ environment, run, callsPerSecond, windowMs }: Step): Promise<readonly number[]> {
    const tookMs: number[] = [];
    const rollouts: Promise<void>[] = [];
    const count = Math.round((callsPerSecond * windowMs) / 1_000 / callsOfRollout);
    // Rollouts begin one after another, and each goes on at its own pace: together they make the rate.
    const paceMs = windowMs / callsOfRollout;
    const apartMs = paceMs / count;
    const startMs = performance.now();
    for (let index = 0; index < count; index += 1) {
      const beginsMs = startMs + index * apartMs;
      rollouts.push(this.#rollout({ environment, run, beginsMs, paceMs, tookMs }));
    }
    await Promise.all(rollouts);
    return tookMs;
  }

  close(): Promise<void> {
    return this.#agent.destroy();
  }

  async #rollout(plan: {
    readonly environment: string;
    readonly run: string;
    readonly beginsMs: number;
    readonly paceMs: number;
    readonly tookMs: number[];
  }): Promise<void> {
    const { environment, run, beginsMs, paceMs, tookMs } = plan;
    const rollout = `rollout-${(this.#named += 1)}`;
    for (let call = 0; call < callsOfRollout; call += 1) {
      await sleep(Math.max(0, beginsMs + call * paceMs - performance.now()));
      const sentMs = performance.now();
      await this.#post(`/rft/${environment}/tools/shell`, run, {
        type: 'function_call',
        id: `call-${call}`,
        call_id: `call-${call}`,
        name: 'shell',
        arguments: JSON.stringify({ command: command(call) }),
        trace_id: rollout,
        item: row,
      });
      tookMs.push(performance.now() - sentMs);
    }
    const sample = { output_text: 'yes' };
    await this.#post(`/rft/${environment}/grade`, run, { trace_id: rollout, sample, item: row });
  }

  async #post(path: string, run: string, body: object): Promise<void> {
    const { gatewayUrl, apiKey } = this.#played;
    const { statusCode, body: answer } = await request(gatewayUrl + path, {
      method: 'POST',
      dispatcher: this.#agent,
      headers: {
        authorization: `Bearer ${apiKey}`,
        'content-type': 'application/json',
        'x-corral-run': run,
      },
      body: JSON.stringify(body),
    });
    const text = await answer.text();
    if (statusCode !== 200) throw new Error(`${statusCode} ${text}`);
  }
}
