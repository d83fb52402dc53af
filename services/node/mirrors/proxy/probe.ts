import { setTimeout as sleep } from 'node:timers/promises';
import type { Upstream } from './upstream.ts';

/** Whether a mirror fails when it is asked for its own address. Null: it answers. */
export type Probe = (address: string) => Promise<string | null>;

/** A probe that takes longer has failed. */
const probeMs = 5_000;

/** Failures of one second share a probe, so that a mirror that is down is not asked more often. */
const everyMs = 1_000;

export const isFailure = (status: number): boolean => status >= 500 || status === 429 || status === 408;

export function createProbe(upstream: Pick<Upstream, 'get'>, pauseMs = everyMs): Probe {
  const startedAtMs = new Map<string, number>();
  const next = new Map<string, Promise<string | null>>();
  const start = (address: string) => {
    next.delete(address);
    startedAtMs.set(address, performance.now());
    return troubleOf(upstream, new URL(address));
  };
  return (address) => {
    // One that has started before this failure says nothing about it.
    const waiting = next.get(address);
    if (waiting !== undefined) return waiting;
    const dueInMs = (startedAtMs.get(address) ?? Number.NEGATIVE_INFINITY) + pauseMs - performance.now();
    if (dueInMs <= 0) return start(address);
    const probing = sleep(dueInMs).then(() => start(address));
    next.set(address, probing);
    return probing;
  };
}

async function troubleOf(upstream: Pick<Upstream, 'get'>, url: URL): Promise<string | null> {
  try {
    const answer = await upstream.get(url, { method: 'HEAD', headers: {} }, AbortSignal.timeout(probeMs));
    answer.resume();
    const { statusCode = 502 } = answer;
    return isFailure(statusCode) ? `it answers ${statusCode}` : null;
  } catch (thrown) {
    return codeOf(thrown);
  }
}

export const codeOf = (thrown: unknown): string =>
  thrown instanceof Error && 'code' in thrown ? String(thrown.code) : String(thrown);
