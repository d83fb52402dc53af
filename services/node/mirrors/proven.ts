/** Which mirrors this machine has had a good answer from. A mirror that never worked is no outage. */
export type Proven = {
  note(address: string): void;
  isProven(address: string): boolean;
};

const dayMs = 24 * 3_600_000;

/** Environments name few; a fleet with more forgets the oldest, which then are asked again. */
const mostKept = 1_000;

export function createProven(nowMs = () => performance.now()): Proven {
  const goodAtMs = new Map<string, number>();
  return {
    note: (address) => {
      goodAtMs.delete(address);
      goodAtMs.set(address, nowMs());
      const [oldest] = goodAtMs.keys();
      if (goodAtMs.size > mostKept && oldest !== undefined) goodAtMs.delete(oldest);
    },
    isProven: (address) => {
      const atMs = goodAtMs.get(address);
      return atMs !== undefined && nowMs() - atMs < dayMs;
    },
  };
}
