import { tokenSha256 } from '#src/platform/tokens.ts';
import { workOffTicket, type LaunchTools } from '#src/pool/launch/work-off-ticket.ts';
import { createProvenTemplates } from '#src/pool/launch/start.ts';
import type { SandboxAccount } from '#src/pool/sandbox-account.ts';
import { countPools, createSupply } from '#src/pool/supply.ts';
import type { Loops } from './loops.ts';
import type { PlanBook } from './plan-book.ts';
import type { ControllerPorts } from './ports.ts';
import { tracedLaunches } from './traced-launches.ts';

type Launching = {
  readonly poke: () => void;
  readonly missing: () => readonly string[];
  readonly underWay: () => number;
};
type LaunchingOptions = {
  readonly account: SandboxAccount;
  readonly book: PlanBook;
  readonly startBudget: number;
};

/** The hint makes it immediate; this is for a hint that was lost. */
const supplyMs = 1_000;
/** All pools are looked at for people's eyes, and for what a Redis may have forgotten; there may be thousands. */
const poolsMs = 5_000;
/** A worker ends only with the controller; one that failed is started again after this. */
const workAgainMs = 1_000;

/** Offers tickets, and works them off: each sandbox that was started may make room for the next ticket at once. */
export function createLaunching(ports: ControllerPorts, loops: Loops, options: LaunchingOptions): Launching {
  const tools = launchTools(ports, options);
  const { book, startBudget } = options;
  const readChosen = () => book.readChosen();
  const lookAtPools = createSupply({ ...ports, plans: tools.plans, readChosen, startBudget });
  const supply = loops.run('supply', supplyMs, async () => {
    await book.forgetChosen();
    await lookAtPools();
  });
  loops.run('pools', poolsMs, () => countPools({ ...ports, plans: tools.plans }));
  let underWay = 0;
  const handle = tracedLaunches(ports.tracer, async (ticket, signal) => {
    underWay += 1;
    const end = await workOffTicket(tools, ticket, signal).finally(() => {
      underWay -= 1;
    });
    if (end.kind !== 'nothing') supply.poke();
    return end;
  });
  loops.run('work', workAgainMs, (signal) => ports.queue.work(startBudget, handle, signal));
  return {
    poke: supply.poke,
    underWay: () => underWay,
    // Redis away later is told beside it: the others have no other Redis, and restarting this one fixes nothing.
    missing: () => (supply.hasWorked() ? [] : ['fleet state: Redis has not answered']),
  };
}

function launchTools(ports: ControllerPorts, { account, book, startBudget }: LaunchingOptions): LaunchTools {
  return {
    ...ports,
    account,
    startBudget,
    proven: createProvenTemplates(),
    plans: () => book.plans(),
    newSandbox: () => ports.tokens.newSandbox(ports.random),
    tokenSha256Of: (sandbox) => tokenSha256(ports.tokens.tokenOf(sandbox)),
  };
}
