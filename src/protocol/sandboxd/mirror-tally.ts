/** What node has counted of a sandbox's requests to its mirrors, in a file that sandboxd reads and nothing in the sandbox can write. */
export type MirrorTally = {
  readonly policy: MirrorCounts;
  readonly grader: MirrorCounts;
  /** Requests that wait for a silent mirror, and probes: how they end is not counted yet. */
  readonly undecided: number;
  /** Whether the run of this sandbox makes most of the requests of late, so that it may have overloaded a mirror. */
  readonly mostOfLoad: boolean;
};

export type MirrorCounts = {
  readonly asked: number;
  /** The mirror answered 5xx, broke the connection off, or did not answer. */
  readonly failed: number;
  /** Of those, in how many a probe of the mirror failed too, right after it. */
  readonly confirmed: number;
  /** Refused by the sandbox's bounds. */
  readonly refused: number;
};

/** In sandboxd's own folder. */
export const mirrorTallyName = 'mirrors.json';

export const nothingAsked: MirrorCounts = { asked: 0, failed: 0, confirmed: 0, refused: 0 };

/** Throws if the text is something else. */
export function readMirrorTally(text: string): MirrorTally {
  const value: unknown = JSON.parse(text);
  const field = (name: string): unknown =>
    typeof value === 'object' && value !== null
      ? Object.getOwnPropertyDescriptor(value, name)?.value
      : undefined;
  return {
    policy: countsIn(field('policy')),
    grader: countsIn(field('grader')),
    undecided: Number(field('undecided')),
    mostOfLoad: field('mostOfLoad') === true,
  };
}

function countsIn(value: unknown): MirrorCounts {
  const count = (name: keyof MirrorCounts): number => {
    const found: unknown =
      typeof value === 'object' && value !== null
        ? Object.getOwnPropertyDescriptor(value, name)?.value
        : null;
    if (typeof found !== 'number') throw new Error(`the tally of mirrors has no ${name}`);
    return found;
  };
  return {
    asked: count('asked'),
    failed: count('failed'),
    confirmed: count('confirmed'),
    refused: count('refused'),
  };
}

export function countsSince(before: MirrorCounts, now: MirrorCounts): MirrorCounts {
  return {
    asked: now.asked - before.asked,
    failed: now.failed - before.failed,
    confirmed: now.confirmed - before.confirmed,
    refused: now.refused - before.refused,
  };
}
