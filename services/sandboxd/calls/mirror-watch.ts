import { readFile } from 'node:fs/promises';
import { setTimeout } from 'node:timers/promises';
import {
  countsSince,
  type MirrorCounts,
  type MirrorTally,
  noCounts,
  parseMirrorTally,
} from '#src/protocol/sandboxd/mirror-tally.ts';
import type { CallEvidence, CallRequest } from '#src/protocol/sandboxd/wire.ts';

/**
 * The counts of this sandbox's requests to package mirrors while a call ran. It waits until the end of each failed request is counted,
 * because a mirror is probed only after a request has failed.
 */
export type MirrorWatch = { readonly end: () => Promise<Pick<CallEvidence, 'mirrors'>> };

/** Longer than a probe takes. */
const longestWaitMs = 7_000;
const lookEveryMs = 50;

/** A reader can meet a write. */
const mostReads = 5;

/** Without the tally it is unknown what became of the sandbox's requests. */
const unknown = { mirrors: { ...noCounts, lost: 1, doubt: null } } as const;

export async function watchMirrors(tallyFile: string, { action }: CallRequest): Promise<MirrorWatch> {
  const before = await readTally(tallyFile);
  return {
    end: async () => {
      const now = await decided(tallyFile);
      if (before === null || now === null) return unknown;
      const counts = isGraders(action) ? gradersCounts(before, now) : countsSince(before.policy, now.policy);
      const isNothing = Object.values(counts).every((each) => each === 0);
      return isNothing ? {} : { mirrors: { ...counts, doubt: now.doubt } };
    },
  };
}

const isGraders = (action: CallRequest['action']) =>
  action.kind === 'grade' || (action.kind === 'exec' && action.user === 'grader');

/** Of what it ran as the policy, only failures that a probe confirms: the policy's own files may ask for any address that fails. */
function gradersCounts(before: MirrorTally, now: MirrorTally): MirrorCounts {
  const own = countsSince(before.grader, now.grader);
  return { ...own, confirmed: own.confirmed + countsSince(before.policy, now.policy).confirmed };
}

async function decided(file: string): Promise<MirrorTally | null> {
  const untilMs = performance.now() + longestWaitMs;
  for (;;) {
    const tally = await readTally(file);
    if (tally === null || tally.undecided === 0 || performance.now() > untilMs) return tally;
    await setTimeout(lookEveryMs);
  }
}

async function readTally(file: string, reads = 1): Promise<MirrorTally | null> {
  try {
    return parseMirrorTally(await readFile(file, 'utf8'));
  } catch {
    return reads < mostReads ? readTally(file, reads + 1) : null;
  }
}
