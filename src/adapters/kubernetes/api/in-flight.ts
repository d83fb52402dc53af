import { Failure } from '#src/failure/failure.ts';

/** Lets at most `most` pieces of work run at once; the others wait in their order, at most `queued` of them. */
export type InFlight = <Result>(work: () => Promise<Result>) => Promise<Result>;

export function createInFlight(most: number, queued: number): InFlight {
  const waiting: (() => void)[] = [];
  let running = 0;

  const enter = async () => {
    if (running < most) {
      running += 1;
      return;
    }
    if (waiting.length >= queued) throw tooMany(waiting.length);
    // The place is handed over by who leaves, so `running` stays as it is.
    await new Promise<void>((resolve) => {
      waiting.push(resolve);
    });
  };
  const leave = () => {
    const next = waiting.shift();
    if (next === undefined) running -= 1;
    else next();
  };

  return async (work) => {
    await enter();
    try {
      return await work();
    } finally {
      leave();
    }
  };
}

function tooMany(count: number): Failure {
  return new Failure('provider_unavailable', `${count} calls already wait for the Kubernetes API`, {
    retryAfterMs: 1000,
    evidence: { waitingCalls: count },
  });
}
