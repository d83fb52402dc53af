import { createGatewayCore, type WiredCore } from '#services/gateway/core-wiring.ts';
import { createTracing } from '#services/gateway/traced.ts';
import { connectFleetState, type FleetState } from '#src/adapters/redis/fleet-state.ts';
import { offered } from '../fakes/offered.ts';
import type { Template, Tool } from '#src/model/environment.ts';
import { bootId, callId, rolloutId, runId, sandboxId, tenantId } from '#src/model/ids.ts';
import { noTags, sandboxAddress } from '#src/model/rollout.ts';
import { productionTimings } from '#src/model/timings.ts';
import { systemClock } from '#src/platform/clock.ts';
import type { Clock } from '#src/ports/clock.ts';
import type { ProbeDependency } from '#src/ports/dependency-probe.ts';
import type { FleetEvent } from '#src/ports/event-log.ts';
import type { Judge } from '#src/ports/judge.ts';
import { noTracer, type Tracer } from '#src/ports/tracer.ts';
import type { CallResult, Caller, EnvironmentRef, OpenRequest } from '#services/gateway/core-interface.ts';
import { FakeSandboxLink } from '../fakes/sandbox-link.ts';
import { type EnvironmentOfTest, fakeEnvironment } from '../fakes/environment.ts';
import { createFakeRandom } from '../fakes/random.ts';
import { createFakeWorkMetrics } from '../fakes/work-metrics.ts';
import { type PrivateRedis, type RedisSettings, startRedis } from './redis.ts';
import { reserveOne } from '#test/support/reserve-one.ts';

export const sh: Tool = {
  name: 'sh',
  description: 'runs a command',
  parameters: {
    type: 'object',
    properties: { command: { type: 'string' } },
    required: ['command'],
    additionalProperties: false,
  },
  timeoutMs: 2_000,
  run: { kind: 'command', argv: ['sh', '-c', '{command}'] },
};

/** A second is the shortest interval, and a good backend is probed once more after the call. */
export const lookUpDependency = {
  exitCodes: [75],
  probe: 'http://search.example/health',
  everyMs: 1_000,
  idempotent: false,
} as const;

/** A tool that reports by its exit code 75 that its backend failed. */
export const lookUp = {
  ...sh,
  name: 'look_up',
  run: { kind: 'command', argv: ['look-up', '{command}'], dependency: lookUpDependency },
} as const satisfies Tool;

/** The same, which may run twice. */
export const lookUpTwice: Tool = {
  ...lookUp,
  run: { ...lookUp.run, dependency: { ...lookUpDependency, idempotent: true } },
};

export const caller: Caller = {
  face: 'rft',
  tenant: tenantId('lab'),
  run: runId('run-1'),
  keyId: 'trainer',
};
export const plain: EnvironmentRef = { name: 'plain', version: null };

/** A backend as its probe sees it. */
class FakeBackend {
  /** Why it fails; null: it works. */
  state: string | null = null;
  /** Whether a gateway can make a probe at all. */
  isReachable = true;
  readonly probed: string[] = [];

  readonly probe: ProbeDependency = async (address) => {
    this.probed.push(address);
    if (!this.isReachable) throw new Error('this process cannot probe');
    return this.state;
  };
}

/** The gateway core over a real Redis and sandboxes in memory: everything but the wire and the machines. */
export class CoreWorld implements AsyncDisposable {
  readonly redis: PrivateRedis;
  readonly state: FleetState;
  readonly link = new FakeSandboxLink();
  readonly events: FleetEvent[] = [];
  readonly work = createFakeWorkMetrics();
  readonly backend = new FakeBackend();
  readonly environment: EnvironmentOfTest;
  readonly wired: WiredCore;
  readonly #random = createFakeRandom();
  #sandboxes = 0;

  private constructor(redis: PrivateRedis, state: FleetState, environment: EnvironmentOfTest, judge: Judge) {
    this.redis = redis;
    this.state = state;
    this.environment = environment;
    this.wired = this.gateway(judge);
  }

  static async start(
    given: Partial<EnvironmentOfTest> = {},
    judge: Judge = noJudge,
    settings: RedisSettings = {},
  ): Promise<CoreWorld> {
    const redis = await startRedis(settings);
    const state = await connectFleetState({
      url: redis.socket,
      fleet: 'test',
      commandTimeoutMs: 2_000,
      onTrouble: () => undefined,
    });
    await state.adoptRedis('empty');
    const environment = fakeEnvironment({ tools: { sh, look_up: lookUp }, ...given });
    return new CoreWorld(redis, state, environment, judge);
  }

  /** Another gateway of the same fleet: it shares nothing with the first but Redis and the sandboxes. */
  gateway(judge: Judge = noJudge, clock: Clock = systemClock, tracer: Tracer = noTracer): WiredCore {
    const tracing = createTracing(tracer);
    const wired = createGatewayCore(
      tracing.world({
        ...this.state,
        published: this.state.environments,
        link: this.link.asPort(),
        judge,
        probe: this.backend.probe,
        catalog: offered([this.environment]),
        clock,
        random: this.#random,
        work: this.work,
        timings: productionTimings,
        secret: () => undefined,
        record: (event) => this.events.push(event),
        onTrouble: () => undefined,
      }),
    );
    return { ...wired, core: tracing.core(wired.core) };
  }

  /** Adds a ready sandbox, as a controller does after its no-op; returns its id. */
  async ready({ digest }: Pick<Template, 'digest'> = this.environment.template) {
    this.#sandboxes += 1;
    const sandbox = sandboxId(`sb-${this.#sandboxes}`);
    this.link.start(sandbox, `boot-${this.#sandboxes}`);
    const target = { template: digest, minReady: 1_000, max: 1_000 };
    await reserveOne(this.state.pool, sandbox, [target], 1_000, 60_000);
    await this.state.pool.ready(sandbox, bootId(`boot-${this.#sandboxes}`), sandboxAddress('unix:/fake'));
    return sandbox;
  }

  /** How many sandboxes have an owner. */
  async sandboxesHeld({ digest }: Pick<Template, 'digest'> = this.environment.template): Promise<number> {
    const [counts] = await this.state.pool.counts([digest]);
    return counts?.held ?? 0;
  }

  /** A tool call as the RFT face makes it. */
  sh(rollout: string, call: string, command: string, core = this.wired.core): Promise<CallResult> {
    return this.call(rollout, call, 'sh', { command }, core);
  }

  call(
    rollout: string,
    call: string,
    tool: string,
    args: object,
    core = this.wired.core,
    as = caller,
  ): Promise<CallResult> {
    return core.toolCall(as, {
      rollout: { rollout: rolloutId(rollout), attempt: null },
      open: { environment: plain, item: { id: 'item-1', answer: 'yes' } },
      call: callId(call),
      tool,
      namedBy: 'job',
      arguments: JSON.stringify(args),
      timeoutMs: null,
      waitMs: this.waitMs,
    });
  }

  grade(rollout: string, outputText: string, calls: readonly string[] = [], core = this.wired.core) {
    return core.grade(caller, {
      rollout: { rollout: rolloutId(rollout), attempt: null },
      open: { environment: plain, item: { id: 'item-1', answer: 'yes' } },
      sample: JSON.stringify({ output_text: outputText, output_tools: calls.map((id) => ({ id })) }),
      waitMs: this.waitMs,
    });
  }

  open(rollout: string, over: Partial<OpenRequest> = {}) {
    const request = {
      rollout: rolloutId(rollout),
      attempt: 1,
      environment: plain,
      item: null,
      group: null,
      tags: noTags,
      requirements: null,
      ...over,
    };
    return this.wired.core.open({ ...caller, face: 'native' }, request);
  }

  /** How long requests are held; longer than an RFT call's own reserve, so that there is time to wait in line. */
  waitMs = 20_000;

  async [Symbol.asyncDispose](): Promise<void> {
    await this.wired.close();
    await this.state.close();
    await this.redis.stop();
  }
}

const noJudge: Judge = {
  score: () => Promise.reject(new Error('this test has no judge')),
};
