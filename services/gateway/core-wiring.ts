import canonicalize from 'canonicalize';
import { attachToCall, recordedCall } from '#src/calls/attach.ts';
import type { CallResult } from '#src/calls/work.ts';
import { answerUnsettled } from '#src/calls/tell-settled.ts';
import { DependencyProbes } from '#src/calls/probe-dependencies.ts';
import { SetupRoom } from '#src/calls/setup-copy.ts';
import { RolloutCache } from '#src/claiming/resolve-rollout.ts';
import { SandboxPreparation, type SetupOf } from '#src/claiming/prepare-sandbox.ts';
import { type OfferedEnvironments, PinnedEnvironments } from '#src/claiming/pinned-environments.ts';
import { WaitingRoom, Wakes } from '#src/claiming/waiting-room.ts';
import { ArtifactRoom } from '#src/grading/artifact-room.ts';
import { type EvaluateDeps, evaluateJob, whyNoScore } from '#src/grading/evaluate-job.ts';
import { withoutSecretsOf } from '#src/grading/judge-request.ts';
import { type KeepDeps, toKeep } from '#src/grading/keep-rollout.ts';
import type { Grade } from '#src/grading/job.ts';
import { asFailure } from '#src/failure/failure.ts';
import { recordEnds, recordReplays, recordTaints } from '#src/lifecycle/record-ends.ts';
import type { Timings } from '#src/model/timings.ts';
import type { TemplateDigest } from '#src/model/ids.ts';
import type { Clock } from '#src/ports/clock.ts';
import type { FleetEvent } from '#src/ports/event-log.ts';
import type { KeepCallText, KeepRollout } from '#src/ports/kept-rollouts.ts';
import type { CallStore } from '#src/ports/fleet/calls.ts';
import type { ClaimStore } from '#src/ports/fleet/claims.ts';
import type { ControlStore } from '#src/ports/fleet/controls.ts';
import type { DependencyStore } from '#src/ports/fleet/dependencies.ts';
import type { GradeStore } from '#src/ports/fleet/grades.ts';
import type { GuardStore } from '#src/ports/fleet/guards.ts';
import type { LifecycleStore } from '#src/ports/fleet/lifecycle.ts';
import type { PoolStore, TemplateCounts } from '#src/ports/fleet/pool.ts';
import type { RecoveryStore } from '#src/ports/fleet/recovery.ts';
import { mostSetupBytes, type SetupStore } from '#src/ports/fleet/setup.ts';
import type { EnvironmentStore } from '#src/ports/fleet/registry.ts';
import type { ProbeDependency } from '#src/ports/dependency-probe.ts';
import type { Judge } from '#src/ports/judge.ts';
import type { Random } from '#src/ports/random.ts';
import type { SandboxLink } from '#src/ports/sandbox-link.ts';
import type { WorkMetrics } from '#src/ports/gateway-metrics.ts';
import { every } from '#src/platform/every.ts';
import { callDigest } from '#src/tools/arguments.ts';
import type { CallRequest } from '#src/protocol/sandboxd/wire.ts';
import { queryChecks, setupCommands, sessionChecks } from '#src/tools/action.ts';
import { FollowBudget } from '#src/calls/follow-budget.ts';
import { StdinPlaces } from '#src/calls/stdin-places.ts';
import { Ongoing } from '#src/waiting/ongoing.ts';
import { gatewayCore, type GatewayCoreDeps } from './core-methods.ts';
import type { GatewayCore } from './core-interface.ts';

export type GatewayWorld = {
  readonly claims: ClaimStore;
  readonly calls: CallStore;
  readonly lifecycle: LifecycleStore;
  readonly setups: SetupStore;
  readonly grades: GradeStore;
  readonly guards: GuardStore;
  readonly controls: ControlStore;
  readonly dependencies: DependencyStore;
  readonly recovery: Pick<RecoveryStore, 'adoptedAtMs'>;
  readonly pool: Pick<PoolStore, 'counts' | 'announce'>;
  readonly published: EnvironmentStore;
  readonly link: SandboxLink;
  readonly judge: Judge;
  readonly probe: ProbeDependency;
  readonly catalog: OfferedEnvironments;
  readonly clock: Clock;
  readonly random: Random;
  readonly timings: Timings;
  readonly secret: (name: string) => string | undefined;
  readonly work: WorkMetrics;
  readonly record: (event: FleetEvent) => void;
  /** Left out: nothing is kept. */
  readonly keep?: KeepRollout;
  readonly keepText?: KeepCallText;
  /** Trouble that no request is told of, because the next try fixes it. */
  readonly onTrouble: (error: unknown) => void;
};

export type WiredCore = {
  readonly core: GatewayCore;
  /** Rollouts held in line, and calls and grades under way. */
  readonly load: () => { readonly waiting: number; readonly calls: number; readonly grades: number };
  /** Resolves when calls and grades under way have settled, nothing waits any more, and sandboxes know what is stored. */
  readonly close: () => Promise<void>;
};

/**
 * The gateway's core over the given world: the same in production, in tests and in the simulator. Read it for who may touch
 * what: the port of each name is in {@link GatewayWorld}, and no feature is given more than stands beside it here.
 */
export function createGatewayCore(world: GatewayWorld): WiredCore {
  const { claims, grades, controls, recovery, pool, published, link, catalog, clock, random } = world;
  const { dependencies, timings, secret, work, record, onTrouble } = world;
  // Not the bare stores: what settles as a taint, or is lost, also ends other calls, and is written to the event log with them.
  const calls = recordTaints(world.calls, { claims, clock, record });
  const lifecycle = recordEnds(world.lifecycle, { calls: world.calls, clock, record });
  const setups = recordReplays(world.setups, { calls: world.calls, clock, record });
  const judge = counted(world.judge, work);

  const wakes = new Wakes(claims);
  const room = new WaitingRoom(claims, wakes, clock, onTrouble);
  const ongoingCalls = new Ongoing<CallResult>(clock);
  const ongoingGrades = new Ongoing<Grade>(clock);
  const probes = new DependencyProbes({ dependencies, probe: world.probe, clock, onTrouble });
  answerUnsettled({ calls, link, onTrouble });
  const stopping = new AbortController();
  const contact = keepContact({ lifecycle, clock, onTrouble }, stopping.signal);

  const environments = new PinnedEnvironments(catalog, claims, published);
  const rolloutCache = new RolloutCache();
  const preparation = new SandboxPreparation({
    claims,
    lifecycle,
    setups,
    link,
    clock,
    random,
    wakes,
    setupOf,
  });
  // A burst that waited in vain gives up in one moment, and is told the same.
  const asking = new Ongoing<StartFailure>(clock);
  const lastStartFailure = (template: TemplateDigest) =>
    asking.join(template, () => lastStartFailureOf(pool, template)).result;
  const calling: GatewayCoreDeps['calls'] = {
    claims,
    calls,
    lifecycle,
    link,
    room,
    preparation,
    lastStartFailure,
    wakes,
    ongoing: ongoingCalls,
    followBudget: new FollowBudget(clock),
    stdinPlaces: new StdinPlaces(clock),
    setupRoom: new SetupRoom(setupCopyBytes),
    dependencies,
    probes,
    clock,
    random,
    timings,
    work,
    record,
    texts: {
      keep: world.keepText ?? (() => undefined),
      redact: ({ grader }, text) => withoutSecretsOf(evaluating, grader, text),
    },
  };
  const evaluating: EvaluateDeps = {
    claims,
    calls,
    lifecycle,
    grades,
    guards: world.guards,
    link,
    room,
    preparation,
    lastStartFailure,
    wakes,
    artifactRoom: new ArtifactRoom(artifactBytes),
    judge,
    secret,
    clock,
    random,
  };
  const keeping: KeepDeps = {
    calls,
    clock,
    keep: world.keep ?? (() => undefined),
    redact: ({ environment }, text) => withoutSecretsOf(evaluating, environment.grader, text),
    onTrouble,
  };
  const grading: GatewayCoreDeps['grading'] = {
    claims,
    calls,
    lifecycle,
    grades,
    recovery,
    link,
    room,
    preparation,
    lastStartFailure,
    ongoing: ongoingGrades,
    evaluate: (job) => evaluateJob(evaluating, job),
    toKeep: (job, evaluation) => toKeep(keeping, job, evaluation),
    whyNot: (job, reason) => whyNoScore(evaluating, job, reason),
    awaitCall: async (work, rollout, call, deadline) => {
      const recorded = await recordedCall(calling, rollout.key, call);
      return attachToCall(calling, { ...work, key: rollout.key, known: true }, rollout, recorded, deadline);
    },
    clock,
    random,
    work,
    record,
  };
  const core = gatewayCore({
    resolve: { claims, environments, rolloutCache, canonical },
    open: { claims, controls, environments, rolloutCache, canonical, clock, random, timings },
    prewarm: { environments, pool, clock, random, timings },
    calls: calling,
    grading,
    lifecycle,
    controls,
    catalog,
    record,
    work,
  });
  return {
    core,
    load: () => ({ waiting: room.size, calls: ongoingCalls.size, grades: ongoingGrades.size }),
    close: async () => {
      await Promise.all([ongoingCalls.idle(), ongoingGrades.idle()]);
      await probes.close();
      stopping.abort();
      await contact;
      await room.close();
      wakes.close();
    },
  };
}

/** Of a gateway's memory, for what gradings read out of sandboxes: half of what bodies of held requests may have. */
const artifactBytes = 256 * 1024 * 1024;

/** For uploads of set-up that are kept: two of the largest at once, whose bytes `SetupRoom` counts five times. */
const setupCopyBytes = 10 * mostSetupBytes;

/** A judge that refuses an answer works as well as one that scores it. */
function counted(judge: Judge, work: WorkMetrics): Judge {
  return {
    score: async (...asked) => {
      try {
        const judged = await judge.score(...asked);
        work.judged('ok');
        return judged;
      } catch (thrown) {
        work.judged(asFailure(thrown).code);
        throw thrown;
      }
    },
  };
}

/** A fifth of the silence that fleet state takes for an outage: one word may be late or lost. */
const contactMs = 1_000;

type ContactDeps = Pick<GatewayWorld, 'lifecycle' | 'clock' | 'onTrouble'>;

/** Says that callers can be heard. Nothing is told of one that fails: whoever needs fleet state tells of it. */
function keepContact({ lifecycle, clock, onTrouble }: ContactDeps, signal: AbortSignal): Promise<void> {
  let heardAtMs = clock.monotonicMs();
  return every({ intervalMs: contactMs, clock, signal, onError: onTrouble }, async () => {
    await lifecycle.keepContact(clock.monotonicMs() - heardAtMs);
    heardAtMs = clock.monotonicMs();
  }).done;
}

const canonical = (value: unknown) => canonicalize(value) ?? 'null';

/** One setup command may take as long as all of them, and says at most this much of itself. */
const setupKeepBytes = 4_096;

const setupOf: SetupOf = (environment, row) => {
  const { timeoutMs } = environment.setup;
  const commands = setupCommands(environment, row).map((action): CallRequest => {
    const digest = callDigest('setup', action.argv);
    return { digest, action, timeoutMs, keepBytes: setupKeepBytes };
  });
  const queries = queryChecks(environment.tools).map(({ tool, action }): CallRequest => {
    const digest = callDigest('setup', [tool, action.database, action.sql]);
    return { digest, action, timeoutMs, keepBytes: setupKeepBytes, label: tool };
  });
  const sessions = sessionChecks(environment).map((action): CallRequest => {
    const digest = callDigest('setup', [action.tool]);
    return { digest, action, timeoutMs, keepBytes: setupKeepBytes, label: action.tool };
  });
  return [...commands, ...queries, ...sessions];
};

type StartFailure = TemplateCounts['lastFailure'];

async function lastStartFailureOf(
  pool: GatewayWorld['pool'],
  template: TemplateDigest,
): Promise<StartFailure> {
  const [counts] = await pool.counts([template]);
  return counts?.lastFailure ?? null;
}
