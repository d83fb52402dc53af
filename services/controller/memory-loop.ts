import { shedMemory } from '#src/lifecycle/shed-memory.ts';
import type { Loops } from './loops.ts';
import type { ControllerPorts } from './ports.ts';

/** A fifth of its memory is left to Redis when room is made: more than a fleet writes in so short a time. */
const memoryMs = 10_000;

/** Makes room in fleet state before it is full. */
export function createMemoryWatch({ memory, log }: ControllerPorts, loops: Loops): void {
  loops.run('memory', memoryMs, () => shedMemory(memory, log));
}
