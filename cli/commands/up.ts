import type { Command } from 'commander';
import { loadEnvironments } from '#src/environments/load-environments.ts';
import { systemClock } from '#src/platform/clock.ts';
import { CommandError, exitCodes } from '../command-error.ts';
import { describeExit } from '../fleet/part-process.ts';
import { programs } from '../fleet/programs.ts';
import { type Fleet, type FleetEvent, startFleet } from '../fleet/start-fleet.ts';
import { defaultStateFolder } from '../fleet/state-folder.ts';
import { duration } from '../print/amounts.ts';
import type { Terminal } from '../print/terminal.ts';
import { usualEnvironments } from './options.ts';
import {
  type BeyondThisMachine,
  curlLines,
  type WayIn,
  describeSummary,
  environmentLine,
  type UpSummary,
} from '../up/summary.ts';
import { requireContainerRights } from '../up/container-rights.ts';
import { type OuterDoorOptions, type OuterDoorPlan, planOuterDoor } from '../up/outer-door.ts';
import { askData, askHostLimitations, describeData, tellData } from '../up/told-by-node.ts';

type UpOptions = OuterDoorOptions & {
  readonly port: string;
  readonly environments: string;
  readonly policy?: string;
  readonly keepRecords: boolean;
  readonly console: boolean;
  readonly json: boolean;
};

export function addUpCommand(program: Command, terminal: Terminal): void {
  program
    .command('up')
    .description('run the whole fleet on this machine until Ctrl-C')
    .option('--port <port>', 'where the gateway listens; 0 takes any free port', '8700')
    .option(
      '--host <address>',
      'listen for other machines too; their callers need a key of the key file',
      '127.0.0.1',
    )
    .option('--tls-cert <file>', 'TLS certificate with its chain (default: one of its own)')
    .option('--tls-key <file>', 'private key of the certificate')
    .option('--no-tls', 'listen without TLS, for a port that only this machine forwards')
    .option('--first-key', 'create a key if the key file has none, and print it once', false)
    .option('--environments <folder>', 'folder of environment files', usualEnvironments)
    .option('--policy <file>', 'limits of the operator on environments (default: none)')
    .option('--state <folder>', 'folder for the state of the fleet', defaultStateFolder)
    .option('--keep-records', 'keep records of rollouts across restarts', false)
    .option('--no-console', 'do not serve the console, pages for a browser on this machine')
    .option('--json', 'one JSON object a line instead of text', false)
    .action((options: UpOptions) => up(options, terminal));
}

async function up(options: UpOptions, terminal: Terminal): Promise<void> {
  const startedMs = performance.now();
  const stop = untilTold(terminal);
  requireContainerRights(process.env);
  const environmentsDir = options.environments;
  if (environmentsDir === programs.examples) terminal.remark(`running the example in ${environmentsDir}`);
  const plan = planOuterDoor(options);
  const fleet = await startFleet({
    environmentsDir,
    ...(options.policy === undefined ? {} : { policyFile: options.policy }),
    stateDir: options.state,
    port: portOf(options.port),
    keepRecords: options.keepRecords,
    ...(options.console && { consolePort: usualConsolePort }),
    ...(plan === null ? {} : { outerDoor: plan.door }),
    onEvent: (event) => terminal.remark(told(event, options.json)),
  });
  stop.arm(fleet);
  const over = new AbortController();
  const telling = tellData(
    () => askData(fleet.nodeSocket),
    (data) => terminal.remark(options.json ? JSON.stringify({ kind: 'data', ...data }) : describeData(data)),
    systemClock,
    over.signal,
  );
  const summary = await summarise(fleet, environmentsDir, plan, performance.now() - startedMs);
  terminal.result(options.json ? JSON.stringify(summary) : `\n${describeSummary(summary)}`);
  await stop.told;
  over.abort();
  await telling;
  terminal.remark('stopping: gateway, controller, sandboxes, redis (Ctrl-C again kills)');
  await fleet.stop();
  terminal.remark('stopped; nothing is left running');
}

/** Next to the gateway's; any other if it is taken. */
const usualConsolePort = 8701;

const told = (event: FleetEvent, json: boolean): string =>
  json ? JSON.stringify(event) : describeFleetEvent(event);

/**
 * The first signal asks for a clean stop, the second kills every part and ends. Before the fleet is there, the first
 * ends us at once: the kernel then ends the parts that have started.
 */
function untilTold(terminal: Terminal) {
  const { promise, resolve } = Promise.withResolvers<void>();
  let fleet: Fleet | null = null;
  let signals = 0;
  const onSignal = () => {
    signals += 1;
    if (fleet !== null && signals === 1) return resolve();
    terminal.remark('killed');
    fleet?.kill();
    process.exit(exitCodes.interrupted);
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onSignal);
  return { told: promise, arm: (started: Fleet) => void (fleet = started) };
}

async function summarise(
  fleet: Fleet,
  environmentsDir: string,
  plan: OuterDoorPlan | null,
  readyAfterMs: number,
): Promise<UpSummary> {
  const environments = (await loadEnvironments(environmentsDir)).all();
  const example = environments.find(({ name }) => name === 'shell') ?? environments[0];
  return {
    gatewayUrl: fleet.gatewayUrl,
    apiKey: fleet.apiKey,
    beyond: plan === null || fleet.outerUrl === null ? null : beyondOf(plan, fleet.outerUrl),
    stateDir: fleet.stateDir,
    consoleUrl: fleet.consoleUrl,
    readyAfterMs,
    ...(await askHostLimitations(fleet.nodeSocket)),
    environments: environments.map((environment) => environmentLine(environment, {})),
    tryThis: example === undefined ? [] : curlLines(example, wayInto(fleet, plan)),
  };
}

/** With a first key, from outside; else from this machine, with the development key. */
function wayInto({ gatewayUrl, outerUrl, apiKey }: Fleet, plan: OuterDoorPlan | null): WayIn {
  if (plan === null || outerUrl === null || plan.firstKey === null)
    return { url: gatewayUrl, key: apiKey, certificate: null };
  const url = outerUrl.replace(/\/\/(?:0\.0\.0\.0|\[::\]):/, '//localhost:');
  return { url, key: plan.firstKey, certificate: plan.ownCertificate };
}

const beyondOf = ({ reach, fingerprint, firstKey }: OuterDoorPlan, url: string): BeyondThisMachine => ({
  url,
  reach,
  fingerprint,
  firstKey,
});

function portOf(text: string): number {
  const port = Number(text);
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port;
  throw new CommandError(`not a port: ${text}`, 'yours', 'give a number from 0 to 65535');
}

/** Enough of a log line to recognise it; all of it is in the log. */
const shownOfLine = 160;

/** One line, or a few where a part's last words help, for what happens to the fleet's own parts. */
function describeFleetEvent(event: FleetEvent): string {
  switch (event.kind) {
    case 'leftovers':
      return `removed what an earlier fleet left running: ${event.parts.join(', ')}`;
    case 'ready':
      return `${event.part} is ready (process ${event.pid}, ${duration(event.tookMs)})`;
    case 'slow':
      return `${event.part} runs again but does not answer ready yet; its log tells why`;
    case 'died': {
      const lines = event.lastLines.slice(-3).map((line) => `\n    ${line.slice(0, shownOfLine)}`);
      const words = lines.length === 0 ? '' : ` Its last lines:${lines.join('')}`;
      return `${event.part} died (${describeExit(event.exit)}); starting it again in ${duration(event.restartInMs)}.${words}`;
    }
  }
}
