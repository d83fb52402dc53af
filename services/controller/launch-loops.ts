import { tokenSha256 } from '#src/platform/tokens.ts';
import { runLaunch, type LaunchTools } from '#src/pool/launch/run-launch.ts';
import { createProvenTemplates } from '#src/pool/launch/start.ts';
import type { SandboxAccount } from '#src/pool/sandbox-account.ts';
import { countPools, createSupply, giveMissingJobs } from '#src/pool/supply.ts';
import type { LaunchEnd } from '#src/ports/launch-queue.ts';
import { Ongoing } from '#src/waiting/ongoing.ts';
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
/** A launch whose job is lost waits for this; the script has nothing to reply mostly. */
const jobsMs = 2_000;
/** A worker ends only with the controller; one that failed is started again after this. */
const workAgainMs = 1_000;

/** Reserves launches, and runs them: each sandbox that was started may make room for the next launch at once. */
export function createLaunching(ports: ControllerPorts, loops: Loops, options: LaunchingOptions): Launching {
  const tools = launchTools(ports, options);
  const { book, startBudget } = options;
  const newSandbox = () => ports.tokens.newSandbox(ports.random);
  const lookAtPools = createSupply({
    ...tools,
    ...ports,
    newSandbox,
    readChosen: () => book.readChosen(),
    startBudget,
  });
  const supply = loops.run('supply', supplyMs, async () => {
    await book.forgetChosen();
    await lookAtPools();
  });
  loops.run('pools', poolsMs, () => countPools({ ...ports, plans: tools.plans }));
  loops.run('jobs', jobsMs, () => giveMissingJobs(ports));
  // While Redis was away for longer than a lock, a launch that this process still runs comes to it again.
  const underWay = new Ongoing<LaunchEnd>(ports.clock);
  const launch = tracedLaunches(ports.tracer, (job, signal) => runLaunch(tools, job, signal));
  const handle: typeof launch = async (job, signal) => {
    const end = await underWay.join(job.launch.sandbox, () => launch(job, signal)).result;
    supply.poke();
    return end;
  };
  loops.run('work', workAgainMs, (signal) => ports.queue.work(startBudget, handle, signal));
  return {
    poke: supply.poke,
    underWay: () => underWay.size,
    // Redis away later is told beside it: the others have no other Redis, and restarting this one fixes nothing.
    missing: () => (supply.hasWorked() ? [] : ['fleet state: Redis has not answered']),
  };
}

function launchTools(ports: ControllerPorts, { account, book }: LaunchingOptions): LaunchTools {
  return {
    ...ports,
    account,
    proven: createProvenTemplates(),
    plans: () => book.plans(),
    readPlans: async () => {
      await book.refresh();
      await book.readChosen();
    },
    tokenSha256Of: (sandbox) => tokenSha256(ports.tokens.tokenOf(sandbox)),
  };
}
