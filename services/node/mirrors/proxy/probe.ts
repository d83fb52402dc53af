import { setTimeout as sleep } from 'node:timers/promises';
import type { Upstream } from './upstream.ts';

/** What a mirror says when it is asked for its own address: the status, or why there is no answer. */
export type Said = number | string;
export type Probe = (address: string) => Promise<Said>;

/** A probe that takes longer has failed. */
const probeMs = 5_000;

/** Failures of one second share a probe, so that a mirror that is down is not asked more often. */
const everyMs = 1_000;

export const isFailure = (status: number): boolean => status >= 500 || status === 429 || status === 408;

/** Usual for a name that does not exist; or a mirror refuses or redirects all that it is asked for. */
export const isDoubtful = (status: number): boolean => !isFailure(status) && status >= 300 && status !== 304;

/** 2xx is better than 3xx, and that is better than 4xx. */
export const classOf = (status: number): number => Math.floor(status / 100);

/**
 * Why a mirror has failed; null: it has not. `usual`: the class of what its own address answers when it works, because some have nothing
 * there. Null: it is not known.
 */
export function troubleIn(said: Said, usual: number | null): string | null {
  if (typeof said === 'string') return said;
  const isWorse = usual !== null && classOf(said) > usual;
  return isFailure(said) || isWorse ? `it answers ${said}` : null;
}

export function createProbe(upstream: Pick<Upstream, 'get'>, pauseMs = everyMs): Probe {
  const startedAtMs = new Map<string, number>();
  const next = new Map<string, Promise<Said>>();
  const start = (address: string) => {
    next.delete(address);
    startedAtMs.set(address, performance.now());
    return ask(upstream, new URL(address));
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

async function ask(upstream: Pick<Upstream, 'get'>, url: URL): Promise<Said> {
  try {
    const answer = await upstream.get(url, { method: 'HEAD', headers: {} }, AbortSignal.timeout(probeMs));
    answer.resume();
    return answer.statusCode ?? 502;
  } catch (thrown) {
    return codeOf(thrown);
  }
}

export const codeOf = (thrown: unknown): string =>
  thrown instanceof Error && 'code' in thrown ? String(thrown.code) : String(thrown);
