import { readFile } from 'node:fs/promises';
import { setTimeout } from 'node:timers/promises';
import {
  countsSince,
  type MirrorCounts,
  type MirrorTally,
  readMirrorTally,
} from '#src/protocol/sandboxd/mirror-tally.ts';
import type { CallEvidence, CallRequest } from '#src/protocol/sandboxd/wire.ts';

/**
 * What node counted of this sandbox's requests to package mirrors while a call ran. It waits until node knows how each has ended: a
 * mirror that does not answer is probed only after that.
 */
export type MirrorWatch = { readonly end: () => Promise<Pick<CallEvidence, 'mirrors'>> };

/** Longer than a probe takes. */
const longestWaitMs = 7_000;
const lookEveryMs = 50;

/** `file`: node's tally. */
export async function watchMirrors(file: string, { action }: CallRequest): Promise<MirrorWatch> {
  const before = await readTally(file);
  if (before === null) return { end: async () => ({}) };
  return {
    end: async () => {
      const now = await decided(file);
      if (now === null) return {};
      const counts = isGraders(action) ? gradersCounts(before, now) : countsSince(before.policy, now.policy);
      return counts.asked === 0 && counts.confirmed === 0
        ? {}
        : { mirrors: { ...counts, mostOfLoad: now.mostOfLoad } };
    },
  };
}

const isGraders = (action: CallRequest['action']) =>
  action.kind === 'grade' || (action.kind === 'exec' && action.user === 'grader');

/** Of what it ran as the policy, only what a probe confirms: what the policy wrote may ask for whatever fails. */
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

async function readTally(file: string): Promise<MirrorTally | null> {
  try {
    return readMirrorTally(await readFile(file, 'utf8'));
  } catch {
    return null;
  }
}
