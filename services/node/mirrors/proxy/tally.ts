import type { MirrorDoubt, MirrorTally, MirrorUse } from '#src/protocol/sandboxd/mirror-tally.ts';
import type { Whose } from './whose.ts';

/**
 * What became of a sandbox's request:
 *
 *   answered   by the mirror, or here because it is for nothing that was allowed
 *   refused    by the sandbox's bounds
 *   failed     the mirror answered 5xx, 429 or 408, broke the connection off, or did not answer
 *   doubtful   the mirror refused or redirected it, as it does with names that do not exist; failed, if a probe is answered so, too
 *   left       the sandbox did not wait for the answer
 */
export type Outcome = 'answered' | 'refused' | 'failed' | 'doubtful' | 'left';

/** Counts one sandbox's requests. What is counted is written before the sandbox can know of it. */
export type Tally = {
  connected(whose: Whose): void;
  disconnected(whose: Whose): void;
  asked(whose: Whose): void;
  /** The outcome is known; a request under way has exactly one. `probe`: asks the mirror of a failed or doubtful request. */
  ended(whose: Whose, outcome: Outcome, probe: () => Promise<ProbeResult>): void;
  /** A connection or a request above the bounds, before it was asked. */
  refused(whose: Whose): void;
  /** One more request waits for a silent mirror, or one fewer. */
  silent(change: 1 | -1): void;
};

/** `doubt`: why the sandbox may have caused the failure. */
export type ProbeResult = { readonly hasFailed: boolean; readonly doubt: MirrorDoubt | null };

/**
 * A connection whose user is unknown may be the grader's: what became of it is counted for both. `write` throws if it fails: then this
 * process must end, because what it counts is lost.
 */
export function createTally(before: MirrorTally, write: (tally: MirrorTally) => void): Tally {
  let tally = before;
  const change = (whose: Whose, ...changes: readonly Change[]) => {
    const isOf = (user: 'policy' | 'grader') => whose === user || whose === 'unknown';
    tally = {
      ...tally,
      ...(isOf('policy') && { policy: changed(tally.policy, changes) }),
      ...(isOf('grader') && { grader: changed(tally.grader, changes) }),
    };
  };
  const addUndecided = (by: 1 | -1) => {
    tally = { ...tally, undecided: tally.undecided + by };
  };
  const confirm = (whose: Whose, isDoubtful: boolean, { hasFailed, doubt }: ProbeResult) => {
    addUndecided(-1);
    if (hasFailed) {
      change(whose, ['confirmed', 1], ...(isDoubtful ? ([['failed', 1]] as const) : []));
      tally = { ...tally, doubt };
    }
    write(tally);
  };
  const record = (whose: Whose, ...changes: readonly Change[]) => {
    change(whose, ...changes);
    write(tally);
  };
  write(tally);
  return {
    connected: (whose) => record(whose, ['open', 1]),
    disconnected: (whose) => record(whose, ['open', -1]),
    asked: (whose) => record(whose, ['asked', 1], ['underWay', 1]),
    ended: (whose, outcome, probe) => {
      change(whose, ['underWay', -1]);
      if (outcome === 'refused') change(whose, ['refused', 1]);
      if (outcome === 'failed') change(whose, ['failed', 1]);
      if (outcome === 'failed' || outcome === 'doubtful') {
        addUndecided(1);
        void probe().then((result) => confirm(whose, outcome === 'doubtful', result));
      }
      write(tally);
    },
    refused: (whose) => record(whose, ['refused', 1]),
    silent: (by) => {
      addUndecided(by);
      write(tally);
    },
  };
}

type Change = readonly [keyof MirrorUse, 1 | -1];

function changed(use: MirrorUse, changes: readonly Change[]): MirrorUse {
  const next = { ...use };
  for (const [name, by] of changes) next[name] += by;
  return next;
}
