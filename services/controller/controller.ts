import { answerUnsettled } from '#src/calls/tell-settled.ts';
import { settleOverdueCalls } from '#src/calls/settle-overdue.ts';
import { expireRollouts, releaseLapsedRuns, takeBackGrants } from '#src/lifecycle/expiry.ts';
import { createLabeller } from '#src/lifecycle/labels.ts';
import { shedMemory } from '#src/lifecycle/shed-memory.ts';
import { KnownSandboxes } from '#src/pool/known-sandboxes.ts';
import { SandboxAccount } from '#src/pool/sandbox-account.ts';
import type { ProviderEvent } from '#src/ports/sandbox-provider.ts';
import { createRecheck, recover } from '#src/recovery/recover.ts';
import { errorFields } from '#src/platform/logging.ts';
import { Witness } from '#src/recovery/witness.ts';
import { createLaunching } from './launch-loops.ts';
import { createLoops, type Loops } from './loops.ts';
import { type ControllerSettings, createPlanBook, type PlanBook } from './plan-book.ts';
import type { ControllerPorts } from './ports.ts';
import { createRemoval } from './removal-loops.ts';

export type Controller = {
  /** What it still waits for before it can work, or that it is stopping, in words; empty: ready. */
  missing(): readonly string[];
  /** Sandboxes that this process is starting now. */
  startsUnderWay(): number;
  /** What `newest` of its settings gives is another now: plans are made again at once. */
  environmentsChanged(): void;
  /** Starts nothing new, gives running launches back to the queue, and resolves when every loop has ended. */
  stop(): Promise<void>;
};

/** Runs are pinned to a version at their first call; a template that is new is served within this. */
const plansMs = 10_000;

/**
 * The controller: loops that know nothing of each other but hints. Each reads fleet state or the provider, decides,
 * and acts through one script or one provider call, so any number of controllers may run, and one that dies loses
 * nothing that the next pass of another does not do.
 *
 *   recover  makes a new Redis the fleet's, with what the sandboxes know; until then fleet state answers nobody
 *   unsure   asks the silent ones again
 *   plans    which templates there are, and how many of each are kept ready
 *   supply   reserves launches ─▶ launch queue ─▶ workers start sandboxes
 *   jobs     gives a start whose job was lost another one
 *   watch    the provider's events ─▶ the account of sandboxes, which starts, losses, doubts, leaving and drain read
 *   doubts   asks the sandboxes of which the provider is in doubt
 *   losses, leaving, drain, overdue, garbage, retire    sandboxes on their way out
 *   expire, grants, runs, labels               rollouts on theirs, and whose sandbox is whose
 *   overdue calls                              calls that no gateway has settled: their sandboxes are asked
 *   memory   makes room in fleet state before it is full
 */
export function startController(ports: ControllerPorts, settings: ControllerSettings): Controller {
  const stopping = new AbortController();
  const loops = createLoops(ports, stopping.signal);
  const book = createPlanBook(ports.environments, ports.clock, settings);
  const account = new SandboxAccount();
  const known = new KnownSandboxes(ports.pool);

  createRecovery(ports, loops, { book, known });
  const plans = loops.run('plans', plansMs, () => book.refresh());
  const removal = createRemoval(ports, loops, { account, book, known });
  const unlisted = watchProvider(ports, loops, (event) => {
    account.apply(event);
    removal.onEvent(event);
  });
  createExpiry(ports, loops, { book, known });
  createMemoryWatch(ports, loops);
  const launching = createLaunching(ports, loops, { account, book, startBudget: settings.startBudget });

  const forgetHints = ports.pool.onWork(() => {
    launching.poke();
    removal.poke();
  });

  return {
    missing: () => [
      ...launching.missing(),
      ...unlisted(),
      ...(stopping.signal.aborted ? ['controller: it is stopping'] : []),
    ],
    startsUnderWay: launching.underWay,
    environmentsChanged: () => plans.poke(),
    stop: async () => {
      forgetHints();
      stopping.abort();
      await loops.ended();
    },
  };
}

/** Leases are minutes long and grants half a minute: a second late is soon enough, and costs one empty script. */
const dueMs = 1_000;
/** A call whose gateway is gone has been due for half a minute by then; nobody waits for it but a grade. */
const overdueCallsMs = 5_000;
/** A lapsed run is to be released within two minutes; a large one takes several passes. */
const runsMs = 5_000;
/** Owners are to be in the provider's labels within seconds of the claim: two to four. */
const labelMs = 2_000;

/** What ends by time, and who owns what, written where it survives us. */
function createExpiry(
  ports: ControllerPorts,
  loops: Loops,
  { book, known }: { readonly book: PlanBook; readonly known: KnownSandboxes },
): void {
  loops.run('expire', dueMs, () => expireRollouts(ports));
  loops.run('overdue calls', overdueCallsMs, () => settleOverdueCalls(ports));
  const onTrouble = (thrown: unknown) =>
    ports.log.warn('a sandbox was not told which of its calls are settled', errorFields(thrown));
  answerUnsettled({ ...ports, onTrouble });
  loops.run('grants', dueMs, () => takeBackGrants(ports));
  loops.run('runs', runsMs, () => releaseLapsedRuns(ports));
  const hardEndMs: typeof book.hardEndMs = (rollout) => book.hardEndMs(rollout);
  loops.run('labels', labelMs, createLabeller({ ...ports, known, hardEndMs }));
}

/** A fifth of its memory is left to Redis when room is made: more than a fleet writes in so short a time. */
const memoryMs = 10_000;

/** Makes room in fleet state before it is full. */
function createMemoryWatch({ memory, log }: ControllerPorts, loops: Loops): void {
  loops.run('memory', memoryMs, () => shedMemory(memory, log));
}

/** While Redis is another one than the fleet's, everybody waits: looked at often, for it costs one script. */
const recoverMs = 500;
/**
 * Rollouts' requests are held for unsure sandboxes; one that was only slow is back after one of these. It is also how
 * long a rollout may be in a sandbox before this controller has seen it there.
 */
const recheckMs = 1_000;

/** Makes a new Redis the fleet's, with what the sandboxes know; until then fleet state answers nobody. */
function createRecovery(
  ports: ControllerPorts,
  loops: Loops,
  { book, known }: { readonly book: PlanBook; readonly known: KnownSandboxes },
): void {
  const knownTemplates = () => new Set(book.plans().keys());
  const tools = { ...ports, store: ports.recovery, knownTemplates, known, witness: new Witness() };
  loops.run('recover', recoverMs, async (signal) => {
    const startMs = ports.tracer.nowMs();
    const recovered = await recover(tools, signal);
    if (recovered === null) return;
    ports.tracer.start('recover', { startMs, attributes: { 'corral.sandboxes': sum(recovered) } }).end();
    await book.publishAgain();
  });
  loops.run('unsure', recheckMs, createRecheck(tools));
}

const sum = (counts: Readonly<Record<string, number>>): number =>
  Object.values(counts).reduce((total, count) => total + count, 0);

/** A watch reconnects by itself; one that ended nevertheless is begun again after this. */
const watchAgainMs = 1_000;

/**
 * What the provider tells of its sandboxes, in the order in which it tells it. Everybody lives by it: a start hears that its
 * sandbox runs or cannot, and whatever removes sandboxes which of them are gone.
 *
 * Returns what is missing while the provider has not listed what exists, in words.
 */
function watchProvider(
  { provider }: Pick<ControllerPorts, 'provider'>,
  loops: Loops,
  onEvent: (event: ProviderEvent) => void,
): () => readonly string[] {
  let listed = false;
  const note = (event: ProviderEvent) => {
    listed ||= event.kind === 'listed';
    onEvent(event);
  };
  loops.run('watch', watchAgainMs, (signal) => provider.watch(note, signal));
  return () => (listed ? [] : ['provider: it has not listed its sandboxes']);
}
