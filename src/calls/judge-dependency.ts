import { type Dependency, lateTurnMs, longestProbeWaitMs, probeTimeoutMs } from '../model/dependency.ts';
import type { ProbeRecord, ProbeResult } from '../ports/fleet/dependencies.ts';

/**
 * A tool has ended with the exit code by which it reports that its backend failed. Anything in the sandbox can end with that code,
 * so Corral's own probes of the backend are the witness:
 *
 *   failed      a probe failed while the call ran, just before it, or within an interval after its end
 *   good        probes covered all of that time, and all were good
 *   wait        no probe that began after the call's end has a result yet
 *   undecided   neither: gateways could not probe, or Redis has forgotten how probes ended
 *
 * Only `good` makes the exit code the model's own. `undecided` is no evidence of either, so nothing is scored for it.
 */
export type BackendWord =
  /** `doubt`: why the policy may have caused it all the same; null: it did not. */
  | { readonly kind: 'failed'; readonly reason: string; readonly doubt: string | null }
  | { readonly kind: 'good' }
  | { readonly kind: 'undecided'; readonly reason: string };

/** Of the command, on Redis' clock. `startedAtMs` null: Redis has forgotten when, and with it how earlier probes ended. */
export type CallTimes = { readonly startedAtMs: number | null; readonly endedAtMs: number };

export function judgeDependency(
  { everyMs }: Pick<Dependency, 'everyMs'>,
  times: CallTimes,
  record: ProbeRecord,
  mayWait: boolean,
): BackendWord | { readonly kind: 'wait'; readonly forMs: number } {
  const { endedAtMs, startedAtMs } = times;
  const failure = failureSeen(everyMs, times, record.results);
  if (failure !== null) return { kind: 'failed', reason: failure, doubt: doubtOf(record) };
  if (startedAtMs === null || (record.recoveredAtMs ?? startedAtMs) > startedAtMs)
    return { kind: 'undecided', reason: 'Redis has forgotten the probes' };
  const good = record.results.filter(({ failed }) => failed === null);
  const decidedAtMs = endedAtMs + longestProbeWaitMs({ everyMs });
  if (mayWait && record.nowMs < decidedAtMs && !good.some(({ beganAtMs }) => beganAtMs >= endedAtMs))
    return { kind: 'wait', forMs: decidedAtMs - record.nowMs };
  return isCovered(everyMs, { startedAtMs, endedAtMs }, good)
    ? { kind: 'good' }
    : { kind: 'undecided', reason: 'no probe could be made' };
}

/** A gateway that died with its turn, or a result that was lost, leaves no more than this between two good probes. */
const longestGapMs = ({ everyMs }: Pick<Dependency, 'everyMs'>): number =>
  2 * everyMs + lateTurnMs + probeTimeoutMs;

/** A call that starts later than this after a probe has one of its own. */
export const recentMs = ({ everyMs }: Pick<Dependency, 'everyMs'>): number => everyMs + lateTurnMs;

/** Why a probe failed that saw the call. The last one before the call counts, too: nothing had shown yet that the failure was over. */
function failureSeen(
  everyMs: number,
  { startedAtMs, endedAtMs }: CallTimes,
  results: readonly ProbeResult[],
): string | null {
  const fromMs = startedAtMs ?? endedAtMs;
  const untilMs = endedAtMs + everyMs + lateTurnMs;
  const before = results.findLast((one) => one.endedAtMs < fromMs);
  const isRecent = before !== undefined && before.endedAtMs >= fromMs - recentMs({ everyMs });
  const during = results.filter((one) => one.endedAtMs >= fromMs && one.beganAtMs <= untilMs);
  const seen = [...(isRecent ? [before] : []), ...during].find(({ failed }) => failed !== null);
  return seen?.failed ?? null;
}

/** Whether a failure could hide between two probes. Those that began before the call say nothing of it. */
function isCovered(
  everyMs: number,
  { startedAtMs, endedAtMs }: { readonly startedAtMs: number; readonly endedAtMs: number },
  good: readonly ProbeResult[],
): boolean {
  const during = good.map(({ beganAtMs }) => beganAtMs).filter((atMs) => atMs >= startedAtMs);
  const last = during.at(-1);
  if (last === undefined) return false;
  const moments = [startedAtMs, ...during, Math.max(endedAtMs, last)];
  return moments.every(
    (atMs, index) => index === 0 || atMs - (moments[index - 1] ?? atMs) <= longestGapMs({ everyMs }),
  );
}

/** Fewer calls than this in a minute or two overload nothing. */
const fewCalls = 8;

/** A failure that a run may have caused by its own load, or that shows only that gateways cannot reach the backend. */
function doubtOf({ load, goodAtMs }: ProbeRecord): string | null {
  if (goodAtMs === null)
    return 'no probe has been good for a day: gateways may be unable to reach the backend';
  const { ofRun, ofAll } = load;
  return ofRun >= fewCalls && ofRun * 2 > ofAll
    ? `its run makes most of the backend's calls, ${ofRun} of late: it may have overloaded it`
    : null;
}
