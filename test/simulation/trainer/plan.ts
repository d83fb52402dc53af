import type { Chance } from '../engine/chance.ts';
import { backendFailedExit, commandMs, idleMs } from '../environment.ts';
import type { Command } from '../sandbox/command.ts';

export type PlannedCall = {
  readonly call: string;
  /** `upload`: a file of its trainer's, with its name and its token in it. */
  readonly kind: 'command' | 'bad_arguments' | 'exec' | 'upload';
  readonly tool: 'run' | 'look' | 'look_twice';
  readonly command: Command;
};

/** How a trainer on the native face ends a rollout: after its grade, or in the middle of a wave, without one. */
export type PlannedEnd = { readonly by: 'finished' | 'deleted'; readonly duringWave: number | null };

export type PlannedRollout = {
  readonly face: 'rft' | 'native';
  /** Null on the RFT face, which knows no end. */
  readonly end: PlannedEnd | null;
  readonly name: string;
  readonly run: string;
  readonly environment: string;
  readonly item: string;
  readonly startMs: number;
  /** How long the policy thinks before each wave, and before its last words. */
  readonly thinkMs: readonly number[];
  /** Its job is cancelled when a connection is lost: nobody asks for it again. */
  readonly vanishes: boolean;
  /** What its trainer runs before the first wave, one after the other. */
  readonly setup: readonly PlannedCall[];
  /** A call that its trainer marks as set-up after the first wave; null: none. */
  readonly lateSetup: PlannedCall | null;
  /** Waves of calls; the calls of a wave are sent together. */
  readonly waves: readonly (readonly PlannedCall[])[];
  /** Whether its own answer is right; only graders of text look. */
  readonly right: boolean;
};

/** What a training step would do: rollouts of a few items that start together, each with some calls and a grade. */
export function planRollouts(
  chance: Chance,
  count: number,
  environments: readonly string[],
): readonly PlannedRollout[] {
  return Array.from({ length: count }, (_, index) =>
    planRollout(chance.fork(`rollout ${index}`), index, environments),
  );
}

/** As often as each of them is drawn. */
export const usualEnvironments = [
  'counted',
  'counted',
  'told',
  'judged',
  'prepared',
  'elsewhere',
  'elsewhere',
];
/** Half of them graded by what the policy changed. */
export const environmentsOfChanges = ['changed', 'counted'];
/** Of a judge under guard. */
export const environmentsOfGuards = ['guarded', 'guarded', 'told'];
/** Those whose score depends on their sandbox. */
export const environmentsOfActors = ['patient', 'prepared', 'elsewhere', 'elsewhere', 'attached', 'attached'];

function planRollout(chance: Chance, index: number, environments: readonly string[]): PlannedRollout {
  const name = `t${index + 1}`;
  const face = chance.happens(nativeShare) ? 'native' : 'rft';
  const waves = withLooks(
    chance,
    Array.from({ length: chance.between(0, 4) }, (_, wave) => planWave(chance, face, name, wave)),
  );
  return {
    name,
    face,
    ...planSetup(chance.fork('set-up'), face, name),
    end: face === 'rft' ? null : planEnd(chance, waves.length),
    run: chance.pick(['run-1', 'run-1', 'run-2']),
    environment: chance.pick(environments),
    item: chance.pick(['item-1', 'item-2']),
    startMs: startMs(chance),
    thinkMs: Array.from({ length: waves.length + 1 }, () => thinkMs(chance, face)),
    vanishes: chance.happens(0.25),
    waves,
    right: chance.happens(0.5),
  };
}

/** Drawn apart, so that the rest of a seed's story does not depend on it. */
function planSetup(
  chance: Chance,
  face: PlannedRollout['face'],
  name: string,
): Pick<PlannedRollout, 'setup' | 'lateSetup'> {
  if (face === 'rft' || !chance.happens(setupShare)) return { setup: [], lateSetup: null };
  const setup = Array.from({ length: chance.between(1, 3) }, (_, at) => {
    const planned = setupCall(chance, `${name}-setup${at + 1}`);
    return at > 0 && chance.happens(0.4) ? uploadInstead(planned) : planned;
  });
  return {
    setup,
    lateSetup: chance.happens(lateSetupShare) ? setupCall(chance, `${name}-setup-late`) : null,
  };
}

const setupShare = 0.7;
const lateSetupShare = 0.3;
/** How much of it ends otherwise in each sandbox. */
const differsShare = 0.15;

function setupCall(chance: Chance, call: string): PlannedCall {
  const runMs = chance.happens(0.7) ? chance.between(5, 400) : chance.between(400, 2_000);
  const command = { token: `ran ${call}`, runMs, exitCode: chance.pick([0, 0, 1]), exhausts: false };
  return { call, kind: 'exec', tool: 'run', command: { ...command, differs: chance.happens(differsShare) } };
}

const uploadInstead = (planned: PlannedCall): PlannedCall => ({
  ...planned,
  kind: 'upload',
  command: { ...planned.command, differs: false },
});

/** Whether a call of this name is set-up, and not the policy's. */
export const isSetup = (call: string): boolean => call.includes('-setup');

/** Most trainers that cannot say when a rollout ends are those whom this product is for. */
const nativeShare = 0.3;

function planEnd(chance: Chance, waves: number): PlannedEnd {
  const isEarly = waves > 0 && chance.happens(0.35);
  return {
    by: chance.pick(['finished', 'deleted']),
    duringWave: isEarly ? chance.between(0, waves - 1) : null,
  };
}

/** On the native face a policy may think for longer than a rollout may be idle, if its trainer says that it does. */
function thinkMs(chance: Chance, face: 'rft' | 'native'): number {
  if (face === 'native' && chance.happens(0.04)) return chance.between(idleMs, idleMs + 10_000);
  return chance.happens(0.4) ? chance.between(200, 6_000) : 0;
}

/** Mostly the bursts with which steps begin. */
function startMs(chance: Chance): number {
  const share = chance.next();
  if (share < 0.6) return chance.between(4_000, 4_030);
  return share < 0.8 ? chance.between(16_000, 16_030) : chance.between(4_000, 28_000);
}

function planWave(
  chance: Chance,
  face: 'rft' | 'native',
  name: string,
  wave: number,
): readonly PlannedCall[] {
  const parallel = chance.happens(0.3) ? chance.between(2, 3) : 1;
  return Array.from({ length: parallel }, (_, at) =>
    planCall(chance, face, `${name}-c${wave + 1}${'abc'[at] ?? ''}`),
  );
}

/** A trainer's own commands, which are no tools, end by themselves. */
function planCall(chance: Chance, face: 'rft' | 'native', call: string): PlannedCall {
  const isExec = face === 'native' && chance.happens(0.4);
  const kind = isExec ? 'exec' : chance.happens(0.07) ? 'bad_arguments' : 'command';
  const exitCode = chance.pick([0, 0, 0, 1, 127, 137]);
  const exhausts = chance.happens(0.03);
  const runsMs = isExec ? Math.min(runMs(chance), commandMs - 500) : runMs(chance);
  return { call, kind, tool: 'run', command: { token: `ran ${call}`, runMs: runsMs, exitCode, exhausts } };
}

/**
 * Some rollouts have a tool that needs a backend. Its own word, that the backend failed, is in half of them the policy's, to be rid
 * of a bad rollout. Drawn apart, so that the rest of a seed's story does not depend on it.
 */
function withLooks(
  chance: Chance,
  waves: readonly (readonly PlannedCall[])[],
): readonly (readonly PlannedCall[])[] {
  if (!chance.fork('depends').happens(0.4)) return waves;
  return waves.map((wave) =>
    wave.map((planned) => lookInstead(chance.fork(`look ${planned.call}`), planned)),
  );
}

function lookInstead(chance: Chance, planned: PlannedCall): PlannedCall {
  if (planned.kind !== 'command' || !chance.happens(0.5)) return planned;
  const { command } = planned;
  const exitCode = chance.happens(0.5) ? backendFailedExit : command.exitCode;
  return { ...planned, tool: chance.pick(['look', 'look_twice']), command: { ...command, exitCode } };
}

/** Most commands are quick, some take seconds, and a few never end by themselves. */
function runMs(chance: Chance): number {
  const share = chance.next();
  if (share < 0.65) return chance.between(5, 400);
  return share < 0.94 ? chance.between(400, commandMs - 500) : commandMs + 10_000;
}
