import { once, EventEmitter } from 'node:events';
import { join } from 'node:path';
import { freePort } from '#cli/fleet/free-port.ts';
import { openLogFile } from '#cli/fleet/log-file.ts';
import type { PartSpec } from '#cli/fleet/part-process.ts';
import { createPartRecords } from '#cli/fleet/part-records.ts';
import { controllerPart, type Engine, gatewayPart, type PartsOptions } from '#cli/fleet/parts.ts';
import type { RunningFleet } from '#cli/fleet/start-fleet.ts';
import { stateFolderAt } from '#cli/fleet/state-folder.ts';
import { supervise, type SupervisedPart } from '#cli/fleet/supervise.ts';
import { systemClock } from '#src/platform/clock.ts';
import { sendSignal } from './send-signal.ts';

type Of = Pick<RunningFleet, 'stateDir' | 'servicesDir' | 'apiKey'>;

/** One more controller of a fleet, as every fleet but that of one machine has. */
export type ExtraController = {
  readonly url: string;
  /** To be called before the fleet is stopped. */
  stop(): Promise<void>;
};

/** Starts it beside the fleet's own, over the same engine, with an environment folder that may be another one. */
export async function startExtraController(
  fleet: Of,
  environmentsDir: string,
  engine: Engine,
): Promise<ExtraController> {
  const controllerPort = await freePort(0);
  const spec = controllerPart({ ...optionsOf(fleet, environmentsDir, engine), controllerPort });
  const { part } = await startPart(fleet, spec);
  return { url: `http://127.0.0.1:${controllerPort}`, stop: () => part.stop() };
}

/** One more gateway of a fleet. */
export type ExtraGateway = ExtraController & {
  /** SIGKILL; it starts again. Resolves when it is ready. */
  kill(): Promise<void>;
  readonly pid: () => number | null;
};

/** Starts it next to the fleet's own, with the same environments. */
export async function startExtraGateway(
  fleet: Of,
  environmentsDir: string,
  engine: Engine,
): Promise<ExtraGateway> {
  const gatewayPort = await freePort(0);
  const spec = gatewayPart({ ...optionsOf(fleet, environmentsDir, engine), gatewayPort });
  const { part, events } = await startPart(fleet, spec);
  return {
    url: `http://127.0.0.1:${gatewayPort}`,
    pid: () => part.pid(),
    stop: () => part.stop(),
    kill: async () => {
      const ready = once(events, 'ready');
      sendSignal(part.pid(), 'SIGKILL');
      await ready;
    },
  };
}

const optionsOf = (
  { stateDir, servicesDir, apiKey }: Of,
  environmentsDir: string,
  engine: Engine,
): PartsOptions => ({
  folder: stateFolderAt(stateDir),
  engine,
  servicesDir,
  environmentsDir,
  policyFile: null,
  gatewayPort: 0,
  controllerPort: 0,
  developmentKey: apiKey,
  pool: {},
  keepRecords: false,
});

async function startPart(
  { stateDir }: Of,
  spec: PartSpec,
): Promise<{ readonly part: SupervisedPart; readonly events: EventEmitter }> {
  const events = new EventEmitter();
  const { logs } = stateFolderAt(stateDir);
  const part = await supervise(spec, {
    clock: systemClock,
    // The fleet's own records have one part of each name in them.
    records: createPartRecords(join(stateDir, `extra-${spec.name}`)),
    logOf: () => openLogFile(join(logs, `extra-${spec.name}.jsonl`), systemClock),
    onEvent: ({ kind }) => void events.emit(kind),
    startDeadlineMs: 60_000,
  });
  return { part, events };
}
