import { EventEmitter, once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { PartName } from '#cli/fleet/part-process.ts';
import type { FleetEvent, RunningFleet } from '#cli/fleet/start-fleet.ts';
import { fleetLeftBy } from './fleet-left-behind.ts';

/** From the record that the fleet keeps of each part while it runs. */
export function partPid(stateDir: string, part: PartName): number {
  const record = JSON.parse(readFileSync(join(stateDir, 'parts', `${part}.json`), 'utf8')) as { pid: number };
  return record.pid;
}

/** What a test does to a fleet as a whole, wherever its sandboxes are. `onEvent` is the fleet's own. */
export function partsOfFleet(stateDir: string) {
  const ready = new EventEmitter();
  return {
    onEvent: (event: FleetEvent): void => {
      if (event.kind === 'ready') ready.emit(event.part);
    },
    /** SIGKILL to one part; resolves when the fleet has it ready again. */
    killPart: async (part: PartName): Promise<void> => {
      const readyAgain = once(ready, part);
      process.kill(partPid(stateDir, part), 'SIGKILL');
      await readyAgain;
    },
    /** Stops the fleet and removes what is its own; fails if it left anything on the machine. */
    stop: async (fleet: RunningFleet, remove: () => Promise<unknown>): Promise<void> => {
      await fleet.stop();
      const left = await fleetLeftBy(stateDir);
      await remove();
      expect(left).toEqual([]);
    },
  };
}
