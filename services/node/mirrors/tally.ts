import { renameSync, writeFileSync } from 'node:fs';
import { type MirrorCounts, type MirrorTally, nothingAsked } from '#src/protocol/sandboxd/mirror-tally.ts';
import type { Load } from './load.ts';
import type { Whose } from './whose.ts';

/**
 * What became of a sandbox's request:
 *
 *   answered   by the mirror, or by us because it is for nothing that was allowed
 *   refused    by the sandbox's bounds
 *   failed     the mirror answered 5xx, broke the connection off, or did not answer
 *   left       the sandbox did not wait for the answer
 */
export type Outcome = 'answered' | 'refused' | 'failed' | 'left';

/** Counts one sandbox's requests. What is counted is written before the sandbox can know of it. */
export type Tally = {
  asked(whose: Whose): void;
  /** `probe` asks the mirror of a failed request, and says whether that fails too. */
  ended(whose: Whose, outcome: Outcome, probe: () => Promise<boolean>): void;
  /** A connection above the bounds. */
  refused(whose: Whose): void;
  /** One more request waits for a silent mirror, or one fewer. */
  silent(change: 1 | -1): void;
};

export type TallyOptions = {
  /** Where it is written. */
  readonly file: string;
  readonly load: Load;
  readonly runOf: () => string;
};

export function createTally({ file, load, runOf }: TallyOptions): Tally {
  const counts: Record<Whose, MirrorCounts> = { policy: nothingAsked, grader: nothingAsked };
  let undecided = 0;
  const write = () => {
    const tally: MirrorTally = { ...counts, undecided, mostOfLoad: load.isMost(runOf()) };
    writeIfThere(file, JSON.stringify(tally));
  };
  const add = (whose: Whose, name: keyof MirrorCounts) => {
    counts[whose] = { ...counts[whose], [name]: counts[whose][name] + 1 };
  };
  write();
  return {
    asked: (whose) => {
      load.count(runOf());
      add(whose, 'asked');
      write();
    },
    ended: (whose, outcome, probe) => {
      if (outcome === 'refused') add(whose, 'refused');
      if (outcome === 'failed') {
        add(whose, 'failed');
        undecided += 1;
        void probe().then((hasFailed) => {
          undecided -= 1;
          if (hasFailed) add(whose, 'confirmed');
          write();
        });
      }
      if (outcome === 'refused' || outcome === 'failed') write();
    },
    refused: (whose) => {
      add(whose, 'refused');
      write();
    },
    silent: (change) => {
      undecided += change;
      write();
    },
  };
}

/** In one step, so that a reader finds a whole one. */
function writeIfThere(file: string, text: string): void {
  try {
    writeFileSync(`${file}.new`, text, { mode: 0o644 });
    renameSync(`${file}.new`, file);
  } catch (thrown) {
    // The sandbox's folder goes before its last request ends.
    if (!(thrown instanceof Error && 'code' in thrown && thrown.code === 'ENOENT')) throw thrown;
  }
}
