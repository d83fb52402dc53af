import { checkDoubts, tellLosses } from '#src/lifecycle/losses.ts';
import { withdrawLeaving, createDrain, endOverdueLaunches, retireOld } from '#src/pool/leaving.ts';
import { createCollector } from '#src/pool/garbage.ts';
import { slotTimeoutMs } from '#src/pool/plans.ts';
import type { KnownSandboxes } from '#src/pool/known-sandboxes.ts';
import type { SandboxAccount } from '#src/pool/sandbox-account.ts';
import type { ProviderEvent } from '#src/ports/sandbox-provider.ts';
import type { Loops } from './loops.ts';
import type { PlanBook } from './plan-book.ts';
import type { ControllerPorts } from './ports.ts';

type Removal = {
  readonly poke: () => void;
  /** What the provider tells that makes them necessary; the account has it before. */
  readonly onEvent: (event: ProviderEvent) => void;
};

/** Hints make these immediate; the intervals are for hints that were lost. */
const hintedMs = 1_000;
/** Ten seconds of silence lose a sandbox: a second is close enough, and an answer costs a millisecond. */
const doubtsMs = 1_000;
const retireMs = 10_000;
/** The comparison goes through two whole lists; what it finds has waited for longer than this anyway. */
const collectMs = 15_000;

/** Everything by which a sandbox ends: the provider's word, a rollout's, its age, or nobody's. */
export function createRemoval(
  ports: ControllerPorts,
  loops: Loops,
  options: { readonly account: SandboxAccount; readonly book: PlanBook; readonly known: KnownSandboxes },
): Removal {
  const { account, book, known } = options;
  const drain = loops.run('drain', hintedMs, createDrain({ ...ports, account }));
  const telling = loops.run('losses', hintedMs, async () => {
    if ((await tellLosses(ports, account)) > 0) drain.poke();
  });
  loops.run('doubts', doubtsMs, async (signal) => {
    if ((await checkDoubts(ports, account, signal)) > 0) drain.poke();
  });
  const withdrawing = loops.run('leaving', hintedMs, async () => {
    if ((await withdrawLeaving(ports.pool, account)) > 0) drain.poke();
  });
  loops.run('overdue', hintedMs, () => endOverdueLaunches(ports));
  const plans = () => book.plans();
  const readChosen = () => book.readChosen();
  loops.run('retire', retireMs, () => retireOld({ ...ports, known, plans, readChosen }));
  loops.run('garbage', collectMs, createCollector({ ...ports, known, patience: () => patienceOf(book) }));
  return {
    poke: drain.poke,
    onEvent: ({ kind }) => {
      if (kind === 'leaving') withdrawing.poke();
      if (kind === 'gone' || kind === 'listed') telling.poke();
    },
  };
}

function patienceOf(book: PlanBook) {
  return {
    strangerMs: slotTimeoutMs(book.plans()),
    missingMs: collectMs,
    silentMs: book.longestLifeMs(),
  };
}
