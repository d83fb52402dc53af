/** Which mirrors this machine has had a good answer from. A mirror that never worked is no outage. */
export type Proven = {
  note(address: string): void;
  isProven(address: string): boolean;
  /** What their own addresses answered well, by class of status. The first answer counts, until it is no longer proven. */
  noteUsual(usual: Usual): void;
  usual(addresses: readonly string[]): Usual;
};

/** By address. */
export type Usual = Readonly<Record<string, number>>;

const dayMs = 24 * 3_600_000;

/** Environments name few; a fleet with more forgets the oldest, which then are asked again. */
const mostKept = 1_000;

export function createProven(nowMs = () => performance.now()): Proven {
  const goodAtMs = new Map<string, number>();
  const classes = new Map<string, number>();
  const forget = (address: string) => {
    goodAtMs.delete(address);
    classes.delete(address);
  };
  const isProven = (address: string) => {
    const atMs = goodAtMs.get(address);
    return atMs !== undefined && nowMs() - atMs < dayMs;
  };
  const note = (address: string) => {
    if (!isProven(address)) classes.delete(address);
    goodAtMs.delete(address);
    goodAtMs.set(address, nowMs());
    const [oldest] = goodAtMs.keys();
    if (goodAtMs.size > mostKept && oldest !== undefined) forget(oldest);
  };
  return {
    note,
    isProven,
    noteUsual: (usual) => {
      for (const [address, each] of Object.entries(usual)) {
        note(address);
        if (!classes.has(address)) classes.set(address, each);
      }
    },
    usual: (addresses) => Object.fromEntries(addresses.flatMap((address) => known(address, classes))),
  };
}

function known(address: string, classes: ReadonlyMap<string, number>): readonly [string, number][] {
  const found = classes.get(address);
  return found === undefined ? [] : [[address, found]];
}
