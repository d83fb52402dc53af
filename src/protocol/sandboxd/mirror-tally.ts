/**
 * The counts of a sandbox's requests to its package mirrors, in a file that sandboxd reads and nothing in the sandbox can write. The
 * process that asks the mirrors writes it, and node does if that process dies.
 */
export type MirrorTally = {
  readonly policy: MirrorUse;
  readonly grader: MirrorUse;
  /** Requests that wait for a silent mirror, and failures that are not probed yet: their end is not counted yet. */
  readonly undecided: number;
  /** Why the sandbox may have caused the last failure; null: nothing suggests that. */
  readonly doubt: MirrorDoubt | null;
};

/** `load`: the run makes most of this machine's requests. `unproven`: this machine saw no good answer of the mirror for a day. */
export type MirrorDoubt = 'load' | 'unproven';

export type MirrorUse = MirrorCounts & {
  /** Connections that are open now. */
  readonly open: number;
  /** Requests that are not answered yet. */
  readonly underWay: number;
};

export type MirrorCounts = {
  readonly asked: number;
  /** The mirror answered 5xx, 429 or 408, broke the connection off, or did not answer. */
  readonly failed: number;
  /** Failures after which a probe of the mirror failed too. */
  readonly confirmed: number;
  /** Refused by the sandbox's bounds. */
  readonly refused: number;
  /** Connections that ended with the process that served them. */
  readonly lost: number;
};

/** In sandboxd's own folder. */
export const mirrorTallyName = 'mirrors.json';

/** The size of the file: it is written over in place, in one piece. */
export const mirrorTallyBytes = 1_024;

export const noCounts: MirrorCounts = { asked: 0, failed: 0, confirmed: 0, refused: 0, lost: 0 };
export const nothingAsked: MirrorTally = {
  policy: { ...noCounts, open: 0, underWay: 0 },
  grader: { ...noCounts, open: 0, underWay: 0 },
  undecided: 0,
  doubt: null,
};

/** `writes`: how often it was written. It is first and last in the text, so that a reader recognizes a text of two writes. */
export const formatMirrorTally = (tally: MirrorTally, writes: number): string =>
  JSON.stringify([writes, tally, writes]).padEnd(mirrorTallyBytes);

/** Throws if the text is something else, or of two writes. */
export function parseMirrorTally(text: string): MirrorTally {
  const value: unknown = JSON.parse(text);
  const [first, tally, last] = Array.isArray(value) ? (value as readonly unknown[]) : [];
  if (typeof first !== 'number' || first !== last) throw new Error('the tally of mirrors is not whole');
  const doubt = fieldOf(tally, 'doubt');
  return {
    policy: useIn(fieldOf(tally, 'policy')),
    grader: useIn(fieldOf(tally, 'grader')),
    undecided: count(tally, 'undecided'),
    doubt: doubt === 'load' || doubt === 'unproven' ? doubt : null,
  };
}

const useIn = (value: unknown): MirrorUse => ({
  asked: count(value, 'asked'),
  failed: count(value, 'failed'),
  confirmed: count(value, 'confirmed'),
  refused: count(value, 'refused'),
  lost: count(value, 'lost'),
  open: count(value, 'open'),
  underWay: count(value, 'underWay'),
});

function count(value: unknown, name: string): number {
  const found = fieldOf(value, name);
  if (typeof found !== 'number') throw new Error(`the tally of mirrors has no ${name}`);
  return found;
}

const fieldOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null
    ? Object.getOwnPropertyDescriptor(value, name)?.value
    : undefined;

/** Requests that were under way at the start count as asked. */
export function countsSince(before: MirrorUse, now: MirrorUse): MirrorCounts {
  return {
    asked: now.asked - before.asked + before.underWay,
    failed: now.failed - before.failed,
    confirmed: now.confirmed - before.confirmed,
    refused: now.refused - before.refused,
    lost: now.lost - before.lost,
  };
}
