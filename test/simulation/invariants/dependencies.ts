import { secondRunOf } from '#src/calls/work.ts';
import { callId } from '#src/model/ids.ts';
import { backendFailedExit, probeEveryMs } from '../environment.ts';
import type { Execution } from '../sandbox/truth.ts';
import type { Request } from '../trainer/ledger.ts';
import type { World } from '../world.ts';
import type { Invariant } from './inspector.ts';
import { ownerKey } from './owner-key.ts';
import { answers } from './ran-once.ts';

/**
 * Who decides whether a backend has failed: the probes, and never the exit code alone. What a Redis that was replaced has forgotten of
 * probes, nobody can be asked for.
 */
export const dependencies: Readonly<Record<string, Invariant>> = {
  'a call whose backend was seen failing is not answered': (world) => {
    for (const { request, last } of reportsAnswered(world)) {
      const seen = world.backend.recorded.find(
        ({ failed, recordedMs }) =>
          failed && recordedMs !== null && isWithin(recordedMs, last.startedMs, last.endedMs ?? 0),
      );
      if (seen !== undefined)
        return `${request.call} was answered, and the probe at ${seen.beganMs} ms failed`;
    }
    return null;
  },

  'a report of a failed backend is the model’s only after a good probe': (world) => {
    for (const { request } of reportsAnswered(world)) {
      const sentMs = Math.min(...requestsOf(world, request).map((one) => one.sentMs));
      const isKnownGood = world.backend.recorded.some(
        (probe) => !probe.failed && isWithin(probe.beganMs, sentMs, request.toldMs),
      );
      if (!isKnownGood) return `${request.call} was answered at ${request.toldMs} ms, and no probe was good`;
    }
    return null;
  },

  'a rollout is discarded for its backend only if a call reported that, and without a mark only if a probe saw it':
    (world) => {
      if (world.redis.replacedMs.length > 0) return null;
      for (const { key, verdict } of world.verdicts) {
        if (verdict.kind !== 'discard' || verdict.code !== 'dependency_failed') continue;
        const reports = world.truth.executionsOf(key).filter(isReport);
        if (reports.length === 0) return `${key} was discarded, and no call of it reported anything`;
        if (verdict.suspected === undefined && !reports.some((one) => wasSeen(world, one)))
          return `${key} was discarded without a mark, and no probe saw its backend fail`;
      }
      return null;
    },

  'while probes are made and good, no exit code discards a rollout': (world) => {
    const { backend, faults, verdicts } = world;
    const isWell = backend.unmade === 0 && backend.recorded.every(({ failed }) => !failed);
    if (!isWell || !faults.sparedAll([])) return null;
    const discarded = verdicts.find(
      ({ verdict }) => verdict.kind === 'discard' && verdict.code === 'dependency_failed',
    );
    return discarded === undefined ? null : `${discarded.key} was`;
  },
};

/** Answered calls whose last run ended with the exit code by which the tool reports its backend. */
function reportsAnswered(world: World): readonly { readonly request: Request; readonly last: Execution }[] {
  if (world.redis.replacedMs.length > 0) return [];
  return answers(world.ledger).flatMap(({ request }) => {
    if (request.planned?.tool === 'run') return [];
    const ids: ReadonlySet<string> = new Set([request.call, secondRunOf(callId(request.call))]);
    const owner = ownerKey(request.rollout.run, request.rollout.name);
    const last = world.truth.executionsOf(owner).findLast((one) => ids.has(one.call));
    return last !== undefined && isReport(last) ? [{ request, last }] : [];
  });
}

const requestsOf = ({ ledger }: World, { rollout, call }: Request): readonly Request[] =>
  ledger.requests.filter((one) => one.rollout.name === rollout.name && one.call === call);

const isReport = ({ tool, ending }: Execution): boolean =>
  tool.startsWith('look') && ending?.kind === 'exited' && ending.exitCode === backendFailedExit;

const isWithin = (atMs: number, fromMs: number, untilMs: number): boolean =>
  fromMs <= atMs && atMs <= untilMs;

/** Scripts, and what is told of them, are on their way for some seconds. */
const onItsWayMs = 8_000;
/** The last probe before a call counts if it is no older. */
const recentMs = probeEveryMs + 1_000;

/** From its start: two gateways may send it for a minute before its sandbox takes a connection. */
function wasSeen({ backend }: World, { startedMs, endedMs }: Execution): boolean {
  const sinceMs = startedMs - recentMs - onItsWayMs;
  const untilMs = (endedMs ?? startedMs) + probeEveryMs + onItsWayMs;
  return backend.recorded.some((probe) => probe.failed && isWithin(probe.beganMs, sinceMs, untilMs));
}
