import { createExpiry } from './expiry-loops.ts';
import { createLaunching } from './launch-loops.ts';
import { createLoops } from './loops.ts';
import { createMemoryWatch } from './memory-loop.ts';
import { createPlanBook } from './plan-book.ts';
import type { ControllerPorts } from './ports.ts';
import { createRecovery } from './recovery-loops.ts';
import { createRemoval } from './removal-loops.ts';
import type { ControllerSettings } from './settings.ts';
import { KnownSandboxes } from '#src/pool/known-sandboxes.ts';
import { SandboxAccount } from '#src/pool/sandbox-account.ts';

export type Controller = {
  /** What it still waits for before it can work, or that it is stopping, in words; empty: ready. */
  missing(): readonly string[];
  /** Sandboxes that this process is starting now. */
  startsUnderWay(): number;
  /** What `newest` of its settings gives is another now: plans are made anew at once. */
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
 *   unsure   asks again those that did not answer it then
 *   plans    which templates there are, and how many of each are kept ready
 *   supply   offers tickets ─▶ launch queue ─▶ workers start sandboxes
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
      ...removal.missing(),
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
