import { asFailure, Failure } from '../failure/failure.ts';
import type { Environment } from '../model/environment.ts';
import { callId } from '../model/ids.ts';
import type { Epoch, RolloutKey } from '../model/rollout.ts';
import type { ActivationStamp } from '../ports/fleet/claims.ts';
import type { RolloutRecord } from '../ports/fleet/records.ts';
import { LinkError } from '../ports/sandbox-link.ts';
import type { SandboxLink, SandboxTarget } from '../ports/sandbox-link.ts';
import type { Clock } from '../ports/clock.ts';
import { protocolVersion } from '../protocol/sandboxd/wire.ts';
import type { CallAnswer, CallRequest } from '../protocol/sandboxd/wire.ts';
import { labelText } from '../protocol/rollout/label.ts';
import type { RolloutLabel } from '../protocol/rollout/label.ts';
import { pauseMs } from '../waiting/patience.ts';
import type { Deadline } from '../waiting/deadline.ts';

export type MovedIn =
  | { readonly kind: 'accepted'; readonly activation: ActivationStamp }
  /** This sandbox will not do; another may. */
  | { readonly kind: 'refused'; readonly failure: Failure };

/** What `setup` runs for a rollout; pure, from the environment and the rollout's item. */
export type SetupOf = (environment: Environment, item: string | null) => readonly CallRequest[];

/** How long a granted sandbox may refuse connections before it is given up for another. */
const bindPatienceMs = 10_000;

/**
 * Binds a granted sandbox to its rollout and runs the environment's `setup` in it, once for all parallel first calls
 * of this process. Across processes both are safe to repeat: the sandbox accepts the same owner again, and the setup
 * commands have call ids of their own, which its journal runs once.
 */
export class MoveIn {
  readonly #link: SandboxLink;
  readonly #clock: Clock;
  readonly #setupOf: SetupOf;
  readonly #hardLifeMs: (environment: Environment) => number;
  readonly #underway = new Map<string, Promise<MovedIn>>();

  constructor(
    link: SandboxLink,
    clock: Clock,
    setupOf: SetupOf,
    hardLifeMs: (environment: Environment) => number,
  ) {
    this.#link = link;
    this.#clock = clock;
    this.#setupOf = setupOf;
    this.#hardLifeMs = hardLifeMs;
  }

  into(rollout: RolloutRecord, environment: Environment, deadline: Deadline): Promise<MovedIn> {
    const which = tenancy(rollout.key, rollout.generation);
    const underway = this.#underway.get(which);
    if (underway !== undefined) return underway;
    const moving = this.#move(rollout, environment, deadline).finally(() => this.#underway.delete(which));
    this.#underway.set(which, moving);
    return moving;
  }

  async #move(rollout: RolloutRecord, environment: Environment, deadline: Deadline): Promise<MovedIn> {
    const target = targetOf(rollout);
    try {
      await this.#bind(target, rollout, environment, deadline.orIn(bindPatienceMs));
      await this.#setUp(target, this.#setupOf(environment, rollout.item));
    } catch (thrown) {
      const failure = thrown instanceof LinkError ? unreachable(thrown) : asFailure(thrown);
      if (failure.blame === 'caller') throw failure;
      return { kind: 'refused', failure };
    }
    return { kind: 'accepted', activation: { generation: rollout.generation, boot: target.boot } };
  }

  /** A bind that timed out may have landed: it is sent again, and the same owner is accepted again. */
  async #bind(
    target: SandboxTarget,
    rollout: RolloutRecord,
    environment: Environment,
    deadline: Deadline,
  ): Promise<void> {
    const expiresInMs = this.#hardLifeMs(environment);
    for (let attempt = 0; ; attempt += 1) {
      try {
        const label = labelText(labelOf(rollout, environment));
        const request = { protocol: protocolVersion, owner: rollout.owner, expiresInMs, label };
        await this.#link.bind(target, request, AbortSignal.timeout(Math.max(1, deadline.remainingMs)));
        return;
      } catch (thrown) {
        if (!mayPass(thrown) || deadline.remainingMs <= pauseMs(attempt)) throw thrown;
        await this.#clock.sleep(pauseMs(attempt));
      }
    }
  }

  async #setUp(target: SandboxTarget, steps: readonly CallRequest[]): Promise<void> {
    for (const [index, step] of steps.entries()) {
      const signal = AbortSignal.timeout(step.timeoutMs + bindPatienceMs);
      const answer = await this.#link.call(
        target,
        setupCall(index),
        step,
        step.timeoutMs + bindPatienceMs,
        signal,
      );
      if (answer === 'running' || !succeeded(answer)) throw setupFailed(index, answer);
    }
  }
}

/** What the sandbox will tell of its rollout when nobody else knows it any more. */
function labelOf(rollout: RolloutRecord, { limits }: Environment): RolloutLabel {
  const { face, environment, version, template, itemKey, wave, generation } = rollout;
  const { idleMs, hardLifeMs } = limits;
  return { face, environment, version, template, itemKey, wave, generation, idleMs, hardLifeMs };
}

/** Ids that no caller can use: they hold a space, which {@link isIdText} refuses. */
const setupCall = (index: number) => callId(`corral setup ${index}`);

const tenancy = (key: RolloutKey, generation: number): string => `${key} ${generation}`;

/** The sandbox a rollout holds, as an address to speak to. */
export function targetOf(rollout: RolloutRecord): SandboxTarget & Epoch {
  if (rollout.epoch === null || rollout.address === null) {
    throw new Failure('unclassified', `rollout ${rollout.key} is ${rollout.state} but holds no sandbox`);
  }
  return { sandbox: rollout.epoch.sandbox, address: rollout.address, boot: rollout.epoch.boot };
}

function mayPass(thrown: unknown): boolean {
  return (
    thrown instanceof LinkError &&
    (thrown.trouble.kind === 'not_sent' || thrown.trouble.kind === 'maybe_sent')
  );
}

function unreachable(error: LinkError): Failure {
  return new Failure(
    'sandboxd_unreachable',
    `the granted sandbox did not accept the rollout: ${error.message}`,
    {
      evidence: { trouble: error.trouble.kind },
      cause: error,
    },
  );
}

function succeeded(answer: CallAnswer): boolean {
  return answer.ending.kind === 'exited' && answer.ending.exitCode === 0;
}

function setupFailed(index: number, answer: CallAnswer | 'running'): Failure {
  const seen = answer === 'running' ? 'still running' : describeEnding(answer);
  return new Failure('setup_failed', `setup step ${index + 1} of the environment failed: ${seen}`, {
    evidence: { step: index + 1, seen },
  });
}

function describeEnding(answer: CallAnswer): string {
  const { ending, stderr } = answer;
  const how = ending.kind === 'exited' ? `exit code ${ending.exitCode}` : ending.kind.replace('_', ' ');
  return stderr.head === '' ? how : `${how}: ${stderr.head.slice(0, 500)}`;
}
