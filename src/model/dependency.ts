/**
 * A backend outside of the sandbox that a tool needs. The tool reports its failure by an exit code, which anything in the sandbox can
 * imitate; so the report counts only if Corral's own probe of the backend failed, too.
 */
export type Dependency = {
  readonly exitCodes: readonly number[];
  /** `http(s)://…`: a 2xx answer is good; `tcp://host:port`: an accepted connection is. */
  readonly probe: string;
  readonly everyMs: number;
  /** A call may run twice without harm: it runs again if the tool reports a failure that no probe has seen. */
  readonly idempotent: boolean;
};

/** A backend that needs longer to say that it is healthy is of no use to a tool. */
export const probeTimeoutMs = 5_000;

/** A turn to probe is taken some milliseconds late, on a busy machine some hundred. */
export const lateTurnMs = 1_000;

type Interval = Pick<Dependency, 'everyMs'>;

/** How long an answer waits at most for a probe that began after its end. */
export const longestProbeWaitMs = ({ everyMs }: Interval): number => everyMs + lateTurnMs + probeTimeoutMs;

/**
 * How long it may take until a call is settled that takes `onceMs` by itself: an answer that reports a failed backend waits for a probe, and
 * an idempotent call may then run once more, and wait once more.
 */
export function withProbesMs(
  dependency: Pick<Dependency, 'everyMs' | 'idempotent'> | null,
  onceMs: number,
): number {
  if (dependency === null) return onceMs;
  return (onceMs + longestProbeWaitMs(dependency)) * (dependency.idempotent ? 2 : 1);
}
