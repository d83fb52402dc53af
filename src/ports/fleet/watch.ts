import type { FailureCode } from '#src/failure/codes.ts';
import type { EnvironmentName, EnvironmentVersion, TemplateDigest } from '#src/model/ids.ts';
import type { TimingChanges } from '#src/model/timings.ts';
import type { RolloutKey } from '#src/model/rollout.ts';
import type { Breaker } from './pool.ts';
import type { Told, Wanted } from '#src/protocol/fleet/events.ts';

/** Verdicts by what they say: `scorable`, or the code of the discard. */
export type VerdictCounts = Readonly<Partial<Record<'scorable' | FailureCode, number>>>;

/** What a gateway or a controller says of itself every two seconds. */
export type ProcessWord = {
  readonly kind: 'gateway' | 'controller';
  readonly host: string;
  readonly pid: number;
  readonly version: string;
  /** Of a gateway: it is in fleet state's list of gateways. The previous release looks for this. */
  readonly isListed?: true;
  /** How long it has run. */
  readonly ageMs: number;
  /** `left`: it has ended in order. */
  readonly state: 'serving' | 'leaving' | 'left';
  /** What it has in hand, by kind of work, and how much of a kind it takes at most. */
  readonly inHand: Readonly<Record<string, number>>;
  readonly atMost: Readonly<Record<string, number>>;
  /** What it told the event log in the last {@link verdictsOfMs}. */
  readonly verdicts: VerdictCounts;
  /** It gives graders what tasks demanded. The previous release looks for this. */
  readonly knowsDemands?: true;
  /** How its timings differ from production's, and what other timings it accepts in running processes because it replaces them. */
  readonly timings?: TimingChanges;
  readonly replacedTimings?: TimingChanges;
  /** Its timings fit those of the processes that ran when it started. */
  readonly agreed?: true;
  /** Why it is not ready. */
  readonly unready?: string;
};

/** Of how long back the verdicts of a word are, and how long a process that is silent is still told of. */
export const verdictsOfMs = 5 * 60_000;

export type HeardProcess = ProcessWord & { readonly silentMs: number };

/** The rollouts of one run that wait for one template and are still asked for. */
export type WaitingRun = {
  readonly template: TemplateDigest;
  readonly waiting: number;
  /** How many rollouts of other runs are served before its first. */
  readonly ahead: number;
  readonly first: RolloutKey;
  /** Since the first stands in line; sandboxes that it gave up for another are no new beginning. */
  readonly firstWaitsMs: number;
};

export type WatchedTemplate = {
  readonly template: TemplateDigest;
  readonly ready: number;
  readonly starting: number;
  readonly held: number;
  readonly waiting: number;
  readonly announced: number;
  readonly breaker: Breaker;
  readonly lastFailure: { readonly code: FailureCode; readonly agoMs: number } | null;
  /** Of a rollout that waits for it or has a sandbox of it; null: there is none, or the asker knows the template. */
  readonly environment: EnvironmentName | null;
  /** For which version a row or a demand made it; null where neither did, or the asker knows the template. */
  readonly chosenFor: EnvironmentVersion | null;
  /** Whether it was made for graders. */
  readonly isGraders: boolean;
};

export type FleetReading = {
  readonly rollouts: {
    readonly open: number;
    /** In line, also those whose caller is silent and may come back to its place. */
    readonly inLine: number;
    readonly callsRunning: number;
  };
  readonly sandboxes: { readonly all: number; readonly starting: number; readonly leaving: number };
  /** The longest waiting ones first; `runsLeftOut` are not among them. */
  readonly line: readonly WaitingRun[];
  readonly runsLeftOut: number;
  /** Those that somebody waits for first, then those with sandboxes, then the asker's own. */
  readonly templates: readonly WatchedTemplate[];
  readonly templatesLeftOut: number;
  readonly processes: readonly HeardProcess[];
  /** Time of Redis itself that the reading took; none of it is waiting. */
  readonly costMs: number;
};

/** The fleet seen as a whole. One script a method; errors as in `claims.ts`. */
export interface FleetWatch {
  /** Changes nothing, and its size is bounded whatever the fleet has. `known`: templates whose environments the asker knows. */
  read(known: readonly TemplateDigest[]): Promise<FleetReading>;
  /** `process`: its name among all of the fleet, another one after every start. */
  tell(process: string, word: ProcessWord): Promise<void>;
  /**
   * Notes the word of a process that starts, as `tell` does, unless a running process of its release has agreed on timings that do not fit
   * the word's: then it returns these. Of two that start together with different timings, the first is noted. `release_skipped`: a process of
   * a release before the previous one runs, or ran in the last day.
   */
  agree(process: string, word: ProcessWord): Promise<TimingChanges | 'release_skipped' | null>;
}

/** A process that writes events, as it says itself every few seconds. */
export type EventKeeper = {
  readonly component: 'gateway' | 'controller';
  /** In a cluster its pod. */
  readonly host: string;
  /** Where it can be asked, `http://10.0.0.7:8080`; null: nowhere, it does not listen. */
  readonly address: string | null;
  /** False: its events go to standard output only. */
  readonly keeps: boolean;
};

/** `log`: the folder that it writes to, whoever else does; of a process without one, the process. */
export type HeardKeeper = EventKeeper & { readonly log: string; readonly silentMs: number };

/**
 * Which logs there are, and who tells of each. A log whose last process has ended is remembered for a day: whoever asks
 * for a story is to know that a part of it may be gone.
 */
export interface EventKeepers {
  tell(log: string, keeper: EventKeeper): Promise<void>;
  /** Those heard last first. */
  all(): Promise<readonly HeardKeeper[]>;
}

/** The lines that another process has, then how much of them it told. Throws what asking throws. */
export type AskKeeper = (
  address: string,
  wanted: Wanted,
  signal: AbortSignal,
) => AsyncGenerator<string, Told>;
