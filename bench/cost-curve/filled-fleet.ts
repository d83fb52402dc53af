import { Agent, request } from 'undici';
import { type Environment, isOpenTemplate, type Template } from '#src/model/environment.ts';
import { bootId, callId, environmentName, itemKey, rolloutId, runId, tenantId } from '#src/model/ids.ts';
import { noTags, sandboxAddress } from '#src/model/rollout.ts';
import { systemRandom } from '#src/platform/random.ts';
import { tokenSha256 } from '#src/platform/tokens.ts';
import type { ClaimRequest } from '#src/ports/fleet/claims.ts';
import type { PoolTarget } from '#src/ports/fleet/pool.ts';
import { eachOf } from '#src/waiting/each-of.ts';
import type { PlayedProcesses } from '../played-processes.ts';
import { reserveOne } from '#test/support/reserve-one.ts';

/** A row as coding tasks have it. */
const item = { id: 'task', text: 'x'.repeat(20_000) };
const row = JSON.stringify(item);
const hourMs = 3_600_000;
const noLimit = 1_000_000;
/** Rollouts of a run; a line has room for 2,000 of one. */
const ofRun = 500;
/** Scripts under way while fleet state is filled: one connection carries them. */
const width = 16;

/**
 * A fleet in which others are there already. Those are written into fleet state and into the played node by us, as a gateway
 * and a controller would have left them; what is measured goes through the real ones, by the RFT face.
 */
export class FilledFleet {
  readonly #played: PlayedProcesses;
  readonly #agent = new Agent({
    connections: null,
    connectTimeout: connectTimeoutMs,
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  #named = 0;

  constructor(played: PlayedProcesses) {
    this.#played = played;
  }

  /** Rollouts that have a sandbox and one call behind them. */
  async open(count: number, name: string): Promise<void> {
    const environment = this.#environment(name);
    const template = templateOf(environment);
    await this.#many(count, async (rollout) => {
      await this.#ready(template, [{ template: template.digest, minReady: noLimit, max: noLimit }]);
      await this.#use(claimOf(rollout, environment, template));
    });
  }

  /** Each environment's pool has as many as it is to have. */
  async fillPools(minReady: number): Promise<void> {
    const all = this.#played.catalog.all().map(templateOf);
    const targets = all.map(({ digest }) => ({ template: digest, minReady, max: noLimit }));
    const wanted = all.flatMap((template) => Array.from({ length: minReady }, () => template));
    await eachOf(wanted, width, (template) => this.#ready(template, targets));
  }

  /** So many rollouts take a sandbox of a pool each, and use it once; resolves when all pools are full again. */
  async takeFromPools(turn: number, count: number): Promise<void> {
    const all = this.#played.catalog.all();
    const chosen = Array.from({ length: count }, (_, index) => all[(turn * count + index) % all.length]);
    const environments = chosen.filter((each) => each !== undefined);
    await eachOf(environments, width, (each) => this.#use(claimOf(this.#name(), each, templateOf(each))));
    const digests = [...new Set(environments.map((each) => templateOf(each).digest))];
    await this.#until(async () => {
      const counts = await this.#played.state.pool.counts(digests);
      return counts.reduce((sum, { ready }) => sum + ready, 0) >= count;
    });
  }

  /** First calls of new rollouts in one instant; resolves to their names. */
  async firstCalls(count: number, environment: string): Promise<readonly string[]> {
    const rollouts = Array.from({ length: count }, () => this.#name());
    await Promise.all(rollouts.map((rollout) => this.#call(environment, rollout, 'first')));
    return rollouts;
  }

  async toolCalls(rollouts: readonly string[], call: string, environment: string): Promise<void> {
    await Promise.all(rollouts.map((rollout) => this.#call(environment, rollout, call)));
  }

  /**
   * First calls that nobody serves; resolves when all of them stand in line. They end with this fleet. Some at a time: a
   * client that opens thousands of connections in one instant would only measure its own time-outs.
   */
  async wait(count: number, environment: string): Promise<void> {
    const { digest } = templateOf(this.#environment(environment));
    const trouble: unknown[] = [];
    for (let sent = 0; sent < count; sent += waitersAtOnce) {
      await this.#many(Math.min(waitersAtOnce, count - sent), async (rollout) => {
        this.#call(environment, rollout, 'first').catch((thrown: unknown) => trouble.push(thrown));
      });
      await this.#until(async () => {
        if (trouble.length > 0) throw trouble[0];
        const [counts] = await this.#played.state.pool.counts([digest]);
        return (counts?.waiting ?? 0) >= Math.min(count, sent + waitersAtOnce);
      });
    }
  }

  close(): Promise<void> {
    return this.#agent.destroy();
  }

  #name(): string {
    return `r${(this.#named += 1)}`;
  }

  #many(count: number, work: (rollout: string) => Promise<void>): Promise<void> {
    return eachOf(
      Array.from({ length: count }, () => this.#name()),
      width,
      work,
    );
  }

  #environment(name: string): Environment {
    const found = this.#played.catalog.newest(environmentName(name));
    if (found === undefined) throw new Error(`no environment ${name}`);
    return found;
  }

  /** What a controller does to start one, whose sandboxd answers at once. */
  async #ready(template: Template, targets: readonly PoolTarget[]): Promise<void> {
    const { state, provider, tokens } = this.#played;
    const sandbox = tokens.newSandbox(systemRandom);
    const reserved = await reserveOne(state.pool, sandbox, targets, noLimit, hourMs);
    if (reserved === null) throw new Error('nothing was to be started');
    await provider.create({
      sandbox,
      template: { ...template, digest: reserved.template },
      tokenSha256: tokenSha256(tokens.tokenOf(sandbox)),
    });
    await state.pool.ready(sandbox, bootId('boot'), sandboxAddress('unix:/nowhere'));
  }

  /** What a gateway writes of a first call. */
  async #use(request: ClaimRequest): Promise<void> {
    const { claims, calls } = this.#played.state;
    const reply = await claims.claim(request);
    if (reply.kind !== 'held') throw new Error(`${request.owner.rollout} got no sandbox: ${reply.kind}`);
    const { key, generation, epoch } = reply.rollout;
    if (epoch === null) throw new Error(`${key} has no sandbox`);
    const ofCall = { key, call: callId('first'), digest: 'd'.repeat(64), tool: 'shell', idleMs: hourMs };
    const admitted = await calls.admit({
      ...ofCall,
      sender: 'try-1',
      timeoutMs: 60_000,
      budget: { toolCalls: 1_000, rolloutMs: hourMs },
      activation: { generation, boot: epoch.boot },
    });
    if (admitted.kind !== 'dispatch') throw new Error(`not dispatched: ${admitted.kind}`);
    await calls.settle({ ...ofCall, ...answered });
  }

  async #call(environment: string, rollout: string, call: string): Promise<void> {
    const { gatewayUrl, apiKey } = this.#played;
    const { statusCode, body } = await request(`${gatewayUrl}/rft/${environment}/tools/shell`, {
      method: 'POST',
      dispatcher: this.#agent,
      headers: {
        authorization: `Bearer ${apiKey}`,
        'content-type': 'application/json',
        'x-corral-run': runOf(rollout),
      },
      body: JSON.stringify({
        type: 'function_call',
        id: call,
        call_id: call,
        name: 'shell',
        arguments: JSON.stringify({ command: 'true' }),
        trace_id: rollout,
        item,
      }),
    });
    const text = await body.text();
    if (statusCode !== 200) throw new Error(`${statusCode} ${text}`);
  }

  /** Asked seldom enough not to be what is measured. */
  async #until(isTrue: () => Promise<boolean>): Promise<void> {
    const deadlineMs = Date.now() + mostMs;
    while (!(await isTrue())) {
      if (Date.now() > deadlineMs) throw new Error(`not so after ${mostMs / 1_000} s`);
      await new Promise((resolve) => setTimeout(resolve, lookAgainMs));
    }
  }
}

const mostMs = 180_000;
const lookAgainMs = 100;
const waitersAtOnce = 250;
/** Beyond the ten seconds that a client usually gives it: a machine that others use too accepts late. */
const connectTimeoutMs = 60_000;

const answered = {
  outcome: 'completed',
  code: null,
  admitted: 'yes',
  exitCode: 0,
  durationMs: 100,
  waitedMs: 0,
  outputBytes: 1_000,
  isAnswered: true,
  taint: null,
  broken: null,
} as const;

const runOf = (rollout: string) => `run-${Math.floor(Number(rollout.slice(1)) / ofRun)}`;

function templateOf({ name, template }: Environment): Template {
  if (isOpenTemplate(template)) throw new Error(`${name} has no template of its own`);
  return template;
}

function claimOf(rollout: string, { name, version }: Environment, template: Template): ClaimRequest {
  return {
    owner: {
      tenant: tenantId('development'),
      run: runId(runOf(rollout)),
      rollout: rolloutId(rollout),
      attempt: 1,
      role: 'policy',
    },
    face: 'rft',
    environment: name,
    version,
    template: template.digest,
    itemKey: itemKey('task'),
    itemDigest: null,
    tags: noTags,
    needs: null,
    item: row,
    idleMs: hourMs,
    hardLifeMs: 2 * hourMs,
  };
}
