/** What a sandbox may take of its mirrors. */
export type Bounds = {
  /** Connections at a time. uv opens 50. */
  readonly connections: number;
  /** Of answers, in all its life: of the policy's requests, and once more of the grader's. */
  readonly bytes: number;
  /** Requests a second, beyond a first burst; others wait, so that one sandbox does not take node's time from its neighbors. */
  readonly rate: number;
  readonly burst: number;
};

export const usualBounds: Bounds = { connections: 128, bytes: 8 * 1024 ** 3, rate: 100, burst: 3_000 };

/** Counts what answers take. */
export type Account = {
  /** How long a request of now has to wait for its turn. */
  nextTurnMs(): number;
  /** Whether the bound is reached. */
  isSpent(): boolean;
  take(bytes: number): void;
};

export function createAccount({ bytes, rate, burst }: Bounds, nowMs = () => performance.now()): Account {
  let taken = 0;
  let fullAtMs = 0;
  const everyMs = 1_000 / rate;
  return {
    nextTurnMs: () => {
      const now = nowMs();
      fullAtMs = Math.max(fullAtMs, now) + everyMs;
      return Math.max(0, fullAtMs - now - burst * everyMs);
    },
    isSpent: () => taken >= bytes,
    take: (more) => {
      taken += more;
    },
  };
}
