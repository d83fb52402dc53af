import type { Environment, Tool } from '#src/model/environment.ts';
import type { Grader } from '#src/model/grader.ts';
import { environmentName, environmentVersion, templateDigest } from '#src/model/ids.ts';
import { type EnvironmentOfTest, fakeEnvironment, fakeTemplate } from '../fakes/environment.ts';

/** The command of every simulated call runs at most this long. */
export const commandMs = 8_000;
/** Sandboxes that are kept ready: one for each environment, in the pool that they share, and one for graders. */
export const minReady = 6;
/** A rollout that nobody calls for so long is over. */
export const idleMs = 40_000;
export const gradeMs = 20_000;
/** How long the simulated platform holds a request; a tenth of the real one's, like most times here. */
export const requestMs = 60_000;

export const backendFailedExit = 75;

const run: Tool = {
  name: 'run',
  description: 'runs a simulated command',
  parameters: {
    type: 'object',
    properties: { command: { type: 'string' } },
    required: ['command'],
    additionalProperties: false,
  },
  timeoutMs: commandMs,
  run: { kind: 'command', argv: ['sh', '-c', '{command}'] },
};

/** How often the backend of these tools is probed. */
export const probeEveryMs = 2_000;

/** Needs a backend, and reports its failure by an exit code, which the policy may bring about as well. */
const looks = (name: 'look' | 'look_twice'): Tool => ({
  ...run,
  name,
  run: {
    kind: 'command',
    argv: ['look', '-c', '{command}'],
    dependency: {
      exitCodes: [backendFailedExit],
      probe: 'http://backend.example/health',
      everyMs: probeEveryMs,
      idempotent: name === 'look_twice',
    },
  },
});

const inSandbox: Grader = {
  kind: 'command',
  argv: ['count-calls'],
  files: { 'check.sh': 'true' },
  timeoutMs: 5_000,
  onExit: 'discard',
  onTimeout: 'discard',
  onOutOfMemory: 'discard',
  onBroken: 0,
};

/** What files are worth that a judge cannot be shown, and artifacts that cannot be taken. */
export const badFilesScore = { attached: -3, elsewhere: -2 } as const;

/** The same, where the policy never was. */
const whereItNeverWas: Grader = {
  ...inSandbox,
  fresh: { artifacts: ['calls'], mostBytes: 1_024, onArtifacts: badFilesScore.elsewhere },
};

/** The same, by all that the policy changed of the image. */
const byChanges: Grader = {
  ...whereItNeverWas,
  fresh: {
    artifacts: [],
    mostBytes: 1_024,
    onArtifacts: badFilesScore.elsewhere,
    changes: { below: ['.'], except: [], mostFiles: 8 },
  },
};

/** Of two rollouts that are graded at once one waits for the other. */
const graderPool = { minReady: 1, max: 2 } as const;
export const graderTemplate = fakeTemplate({
  digest: templateDigest('template-of-graders'),
  role: 'grader',
  startTimeoutMs: 8_000,
});

/** The same, who is told the whole rollout. */
const toldTheWhole: Grader = { ...inSandbox, readsRollout: true };

/** What an answer is worth that the judge refuses: no score that it gives by itself. */
export const refusedScore = -1;
/** An answer that it never refuses. */
export const harmless = 'harmless';

/** A judge elsewhere, reached over a network of its own. */
const elsewhere: Grader = {
  kind: 'http',
  url: 'http://judge.example/score',
  headers: {},
  timeoutMs: 4_000,
  retries: 2,
  onRefused: refusedScore,
  control: harmless,
};

/** What a canary of that judge says that flatters it. */
export const flattery = 'flattery';

/** The same judge, under guard. */
const guarded: Grader = {
  ...elsewhere,
  guard: {
    everyGrades: 2,
    item: { answer: 'yes' },
    canaries: [
      { name: 'injected', answer: flattery, atLeast: null, atMost: 0.5 },
      { name: 'reference', answer: 'yes', atLeast: 0.6, atMost: null },
    ],
  },
};

/** The same judge, that looks at a file. */
const looksAtFiles: Grader = {
  ...elsewhere,
  attach: { paths: ['picture'], mostBytes: 1_024, onBad: badFilesScore.attached },
};

/** With these the model is told that it broke its sandbox. */
export const brokenWords = 'Broken:';

export const cancelledWords = '[cancelled]';

const texts = {
  ...fakeEnvironment().texts,
  cancelled: cancelledWords,
  brokeSandbox: `${brokenWords} this call, {reason}`,
  sandboxBroken: `${brokenWords} an earlier call, {reason}`,
};

const limits = {
  toolCalls: 8,
  outputBytes: 4_096,
  rolloutMs: 120_000,
  idleMs,
  gradeMs,
  hardLifeMs: 240_000,
};

/** There is time for a second try of a grader without room. */
const patientLimits = { ...limits, gradeMs: 80_000 };

function environment(name: string, given: Partial<EnvironmentOfTest>): Environment {
  return fakeEnvironment({
    name: environmentName(name),
    version: environmentVersion(`${name}-version-1`),
    template: fakeTemplate({ startTimeoutMs: 8_000 }),
    tools: { run, look: looks('look'), look_twice: looks('look_twice') },
    texts,
    limits,
    pool: { minReady: 1, max: 8, maxAgeMs: 3_600_000 },
    ...given,
  });
}

/**
 * One graded where the calls ran, one by text alone, one by a judge, one set up first and graded there by who is told of the
 * whole, and one graded where the policy never was. They share a pool; that one's graders have theirs.
 */
const environments: readonly Environment[] = [
  environment('counted', { grader: inSandbox }),
  environment('told', {}),
  environment('judged', { grader: elsewhere }),
  environment('elsewhere', {
    grader: whereItNeverWas,
    graderTemplate,
    // What surrounds a grader is a minute in any world; the rest is for its sandboxes.
    limits: { ...limits, gradeMs: 105_000 },
    pool: { minReady: 1, max: 8, maxAgeMs: 3_600_000, grader: graderPool },
  }),
  environment('prepared', {
    grader: toldTheWhole,
    setup: { commands: [['set', 'up']], timeoutMs: 5_000 },
    limits: patientLimits,
  }),
  // Of worlds with an actor alone.
  environment('attached', {
    grader: looksAtFiles,
    pool: { minReady: 0, max: 8, maxAgeMs: 3_600_000 },
  }),
];

/** Of worlds that ask for it: one more pool would make all others other stories. */
const changedEnvironment = environment('changed', {
  grader: byChanges,
  graderTemplate,
  limits: { ...limits, gradeMs: 105_000 },
  pool: { minReady: 0, max: 8, maxAgeMs: 3_600_000, grader: { ...graderPool, minReady: 0 } },
});

/** Of worlds with an actor alone: as `counted`. */
const patientEnvironment = environment('patient', {
  grader: inSandbox,
  limits: patientLimits,
  pool: { minReady: 0, max: 8, maxAgeMs: 3_600_000 },
});

const guardedEnvironment = environment('guarded', {
  grader: guarded,
  pool: { minReady: 0, max: 8, maxAgeMs: 3_600_000 },
});

const ofSomeWorlds: readonly Environment[] = [changedEnvironment, patientEnvironment, guardedEnvironment];

/** Those of a world in which rollouts of `played` are played. */
export const environmentsFor = (played: readonly string[]): readonly Environment[] => [
  ...environments,
  ...ofSomeWorlds.filter(({ name }) => played.includes(name)),
];
