import type { Chance } from '../engine/chance.ts';
import { commandMs } from '../environment.ts';
import type { Command } from '../sandbox/command.ts';

export type PlannedCall = {
  readonly call: string;
  readonly kind: 'command' | 'bad_arguments';
  readonly command: Command;
};

export type PlannedRollout = {
  readonly name: string;
  readonly run: string;
  readonly environment: string;
  readonly item: string;
  readonly startMs: number;
  /** How long the policy thinks before each wave, and before its last words. */
  readonly thinkMs: readonly number[];
  /** Its job is cancelled when a connection is lost: nobody asks for it again. */
  readonly vanishes: boolean;
  /** Waves of calls; the calls of a wave are sent together. */
  readonly waves: readonly (readonly PlannedCall[])[];
  /** Whether its own answer is right; only graders of text look. */
  readonly right: boolean;
};

/** What a training step would do: rollouts of a few items that start together, each with some calls and a grade. */
export function planRollouts(chance: Chance, count: number): readonly PlannedRollout[] {
  return Array.from({ length: count }, (_, index) => planRollout(chance.fork(`rollout ${index}`), index));
}

function planRollout(chance: Chance, index: number): PlannedRollout {
  const name = `t${index + 1}`;
  const waves = Array.from({ length: chance.between(0, 4) }, (_, wave) => planWave(chance, name, wave));
  return {
    name,
    run: chance.pick(['run-1', 'run-1', 'run-2']),
    environment: chance.pick(['counted', 'told', 'prepared']),
    item: chance.pick(['item-1', 'item-2']),
    startMs: startMs(chance),
    thinkMs: Array.from({ length: waves.length + 1 }, () =>
      chance.happens(0.4) ? chance.between(200, 6_000) : 0,
    ),
    vanishes: chance.happens(0.25),
    waves,
    right: chance.happens(0.5),
  };
}

/** Mostly the bursts with which steps begin. */
function startMs(chance: Chance): number {
  const share = chance.next();
  if (share < 0.6) return chance.between(4_000, 4_030);
  return share < 0.8 ? chance.between(16_000, 16_030) : chance.between(4_000, 28_000);
}

function planWave(chance: Chance, name: string, wave: number): readonly PlannedCall[] {
  const parallel = chance.happens(0.3) ? chance.between(2, 3) : 1;
  return Array.from({ length: parallel }, (_, at) =>
    planCall(chance, `${name}-c${wave + 1}${'abc'[at] ?? ''}`),
  );
}

function planCall(chance: Chance, call: string): PlannedCall {
  const kind = chance.happens(0.07) ? 'bad_arguments' : 'command';
  const exitCode = chance.pick([0, 0, 0, 1, 127, 137]);
  return { call, kind, command: { token: `ran ${call}`, runMs: runMs(chance), exitCode } };
}

/** Most commands are quick, some take seconds, and a few never end by themselves. */
function runMs(chance: Chance): number {
  const share = chance.next();
  if (share < 0.65) return chance.between(5, 400);
  return share < 0.94 ? chance.between(400, commandMs - 500) : commandMs + 10_000;
}
