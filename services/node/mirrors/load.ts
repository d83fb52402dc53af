/** How many requests each run makes of all mirrors of this machine, in the last one to two minutes. */
export type Load = {
  count(run: string, requests: number): void;
  /** Whether it makes most of them, and enough to overload anything. */
  isMost(run: string): boolean;
};

const minuteMs = 60_000;

/** Fewer requests than this overload nothing. */
const fewRequests = 100;

export function createLoad(nowMs = () => performance.now()): Load {
  let minute = 0;
  let current = new Map<string, number>();
  let before = new Map<string, number>();
  const turn = () => {
    const now = Math.floor(nowMs() / minuteMs);
    if (now === minute) return;
    before = now === minute + 1 ? current : new Map();
    current = new Map();
    minute = now;
  };
  return {
    count: (run, requests) => {
      turn();
      if (requests > 0) current.set(run, (current.get(run) ?? 0) + requests);
    },
    isMost: (run) => {
      turn();
      const own = (current.get(run) ?? 0) + (before.get(run) ?? 0);
      return own >= fewRequests && own * 2 > sum(current) + sum(before);
    },
  };
}

const sum = (counts: ReadonlyMap<string, number>) => [...counts.values()].reduce((all, one) => all + one, 0);
