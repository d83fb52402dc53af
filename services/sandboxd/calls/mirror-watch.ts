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
 * because a mirror is probed only after a request has failed; and until the call's connections are closed, because the tally of a proxy that
 * died shows them as open until node has counted them as lost.
 */
export type MirrorWatch = { readonly end: () => Promise<Pick<CallEvidence, 'mirrors'>> };

type Waits = { readonly longestMs: number; readonly commandsOpenMs: number };

/**
 * The longest is longer than a probe takes. Of connections that commands left open, node hears within milliseconds if their proxy died;
 * otherwise they work.
 */
const usualWaits: Waits = { longestMs: 7_000, commandsOpenMs: 300 };
const lookEveryMs = 50;

/** A reader can meet a write. */
const mostReads = 5;

/** Without the tally it is unknown what became of the sandbox's requests. */
const unknown = { mirrors: { ...noCounts, lost: 1, doubt: null } } as const;

export async function watchMirrors(
  tallyFile: string,
  { action }: CallRequest,
  waits = usualWaits,
): Promise<MirrorWatch> {
  const before = await readTally(tallyFile);
  return {
    end: async () => {
      if (before === null) return unknown;
      const ofGrader = isGraders(action);
      const now = await settled(tallyFile, ofGrader ? null : before.policy.open, waits);
      if (now === null) return unknown;
      const counted = ofGrader ? gradersCounts(before, now) : countsSince(before.policy, now.policy);
      const lost = isUnknown(now, counted, ofGrader) ? Math.max(1, counted.lost) : counted.lost;
      const counts = { ...counted, lost };
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

/** After the longest wait: its failures should have been probed, and a grader's connections be closed, because its processes are gone. */
const isUnknown = (
  { undecided, grader }: MirrorTally,
  { failed }: MirrorCounts,
  ofGrader: boolean,
): boolean => (undecided > 0 && failed > 0) || (ofGrader && grader.open > 0);

/** `commandsOpen`: the connections that were open when a command started; null: it is a grader, which leaves none. */
async function settled(
  file: string,
  commandsOpen: number | null,
  { longestMs, commandsOpenMs }: Waits,
): Promise<MirrorTally | null> {
  const startedMs = performance.now();
  for (;;) {
    const tally = await readTally(file);
    const waitedMs = performance.now() - startedMs;
    if (tally === null || waitedMs > longestMs) return tally;
    const isClosed =
      commandsOpen === null
        ? tally.grader.open === 0
        : tally.policy.open <= commandsOpen || waitedMs > commandsOpenMs;
    if (tally.undecided === 0 && isClosed) return tally;
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
