import { productionTimings } from '#src/model/timings.ts';
import { noTracer } from '#src/ports/tracer.ts';
import { startController } from '#services/controller/controller.ts';
import type { ControllerPorts } from '#services/controller/ports.ts';
import { createSandboxTokens } from '#src/platform/tokens.ts';
import { recordEnds, recordRecovery, recordTaints } from '#src/lifecycle/record-ends.ts';
import type { FleetEvent } from '#src/ports/event-log.ts';
import type { FleetMemory } from '#src/ports/fleet/server.ts';
import type { LaunchQueue } from '#src/ports/launch-queue.ts';
import type { SandboxLink } from '#src/ports/sandbox-link.ts';
import type { SandboxProvider } from '#src/ports/sandbox-provider.ts';
import { createFakeLog } from '#test/fakes/log.ts';
import { createFakeMetrics } from '#test/fakes/metrics.ts';
import type { Chance } from '../engine/chance.ts';
import type { SimProcess } from '../engine/process.ts';
import type { Environment } from '#src/model/environment.ts';
import type { ProcessFleet } from '../fleet/process-fleet.ts';

export type ControllerParts = {
  readonly process: SimProcess;
  readonly fleet: ProcessFleet;
  readonly link: SandboxLink;
  readonly provider: SandboxProvider;
  readonly queue: Pick<LaunchQueue, 'add' | 'addMissing' | 'work'>;
  readonly chance: Chance;
  readonly record: (event: FleetEvent) => void;
};

/** Sandboxes that may be starting at once. */
const startBudget = 6;

const tokens = createSandboxTokens({ current: 'simulated fleet key', other: null });

/** The simulated Redis is never full. */
const boundless: FleetMemory = {
  usage: () => Promise.resolve({ usedBytes: 0, limitBytes: null }),
  forget: () => Promise.resolve(0),
  refuseOpens: () => Promise.resolve(),
};

/** The ports of one controller, which a test may change before it is started. */
export function controllerPorts(parts: ControllerParts): ControllerPorts {
  const { process, fleet, link, provider, queue, chance, record } = parts;
  const recorder = { ...fleet, clock: process.clock, record };
  return {
    ...fleet,
    calls: recordTaints(fleet.calls, recorder),
    lifecycle: recordEnds(fleet.lifecycle, recorder),
    recovery: recordRecovery(fleet.recovery, recorder),
    memory: boundless,
    provider,
    link,
    queue,
    tokens,
    clock: process.clock,
    random: chance,
    timings: productionTimings,
    tracer: noTracer,
    metrics: createFakeMetrics(),
    log: createFakeLog(),
    record,
  };
}

export function runController(ports: ControllerPorts, environments: readonly Environment[]): void {
  startController(ports, { newest: () => environments, poolOverrides: new Map(), startBudget });
}
