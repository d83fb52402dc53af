/** What a user of a sandbox may take of its mirrors. The policy and the grader have one each. */
export type Bounds = {
  /** Connections at a time. uv opens 50. */
  readonly connections: number;
  /** Requests at a time; others wait. */
  readonly underWay: number;
  /** Of answers, in all the sandbox's life. */
  readonly bytes: number;
  /** Requests a second, beyond a first burst; others wait, so that a mirror is not overloaded. */
  readonly rate: number;
  readonly burst: number;
};

export const usualBounds: Bounds = {
  connections: 128,
  underWay: 64,
  bytes: 8 * 1024 ** 3,
  rate: 100,
  burst: 3_000,
};

/** Counts what a user takes. */
export type Account = {
  /** Resolves when a request of now has its turn; call the result when it is answered. Rejects if the signal comes before. */
  enter(signal: AbortSignal): Promise<() => void>;
  /** Whether the bound of bytes is reached. */
  isSpent(): boolean;
  take(bytes: number): void;
};

export function createAccount(bounds: Bounds, nowMs = () => performance.now()): Account {
  const pace = createPace(bounds, nowMs);
  const waiting: (() => void)[] = [];
  let underWay = 0;
  let taken = 0;
  // The place of a request that is answered goes to the next one in line.
  const leave = () => {
    const next = waiting.shift();
    if (next === undefined) underWay -= 1;
    else next();
  };
  return {
    enter: async (signal) => {
      const waitMs = pace();
      if (waitMs > 0) await sleep(waitMs, signal);
      signal.throwIfAborted();
      if (underWay >= bounds.underWay) await turn(waiting, signal);
      else underWay += 1;
      return leave;
    },
    isSpent: () => taken >= bounds.bytes,
    take: (more) => {
      taken += more;
    },
  };
}

/** How long a request of now has to wait for its turn. */
export function createPace(
  { rate, burst }: Pick<Bounds, 'rate' | 'burst'>,
  nowMs = () => performance.now(),
): () => number {
  let fullAtMs = 0;
  const everyMs = 1_000 / rate;
  return () => {
    const now = nowMs();
    fullAtMs = Math.max(fullAtMs, now) + everyMs;
    return Math.max(0, fullAtMs - now - burst * everyMs);
  };
}

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', left, { once: true });
    function done() {
      signal.removeEventListener('abort', left);
      resolve();
    }
    function left() {
      clearTimeout(timer);
      reject(signal.reason);
    }
  });
}

/** One that leaves gives up its place in the line. */
function turn(waiting: (() => void)[], signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const go = () => {
      signal.removeEventListener('abort', left);
      resolve();
    };
    const left = () => {
      waiting.splice(waiting.indexOf(go), 1);
      reject(signal.reason);
    };
    signal.addEventListener('abort', left, { once: true });
    waiting.push(go);
  });
}
