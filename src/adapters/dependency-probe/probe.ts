import { connect } from 'node:net';
import { Agent, request } from 'undici';
import type { Clock } from '#src/ports/clock.ts';
import { probeTimeoutMs } from '#src/model/dependency.ts';
import type { ProbeDependency } from '#src/ports/dependency-probe.ts';

/**
 * Probes a backend over a connection of its own: `http(s)://…` is good if it answers 2xx, `tcp://host:port` if it accepts. A redirect is
 * not followed and a body is not read, so an author's address leads nowhere else, and nothing that it answers is kept.
 */
export function createDependencyProbe(clock: Clock, timeoutMs = probeTimeoutMs): ProbeDependency {
  return async (address) => {
    const beganMs = clock.monotonicMs();
    const signal = AbortSignal.timeout(timeoutMs);
    try {
      return await (address.startsWith('tcp://') ? probeTcp : probeHttp)(address, signal);
    } catch (thrown) {
      if (!signal.aborted) return reasonOf(thrown);
      const tookMs = clock.monotonicMs() - beganMs;
      if (tookMs > timeoutMs + stalledMs) throw ownStall(tookMs);
      return `gave no answer within ${timeoutMs / 1_000} s`;
    }
  };
}

/** A timer that is later than this says that this process stood still, and nothing of the backend. */
const stalledMs = 500;

const ownStall = (tookMs: number): Error =>
  new Error(`a probe took ${Math.round(tookMs)} ms: this process was too busy to make it`);

const reasonOf = (thrown: unknown): string =>
  `could not be reached: ${thrown instanceof Error && 'code' in thrown ? String(thrown.code) : String(thrown)}`;

async function probeHttp(address: string, signal: AbortSignal): Promise<string | null> {
  const dispatcher = new Agent({ connections: 1 });
  try {
    const { statusCode, body } = await request(address, { dispatcher, signal });
    body.on('error', () => undefined).destroy();
    return statusCode >= 200 && statusCode < 300 ? null : `answered ${statusCode}`;
  } finally {
    await dispatcher.destroy();
  }
}

function probeTcp(address: string, signal: AbortSignal): Promise<null> {
  const { hostname, port } = new URL(address);
  // The URL has brackets around an IPv6 address, a socket has none.
  const host = hostname.replace(/^\[|\]$/g, '');
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port: Number(port) });
    const giveUp = () => socket.destroy(new Error('given up'));
    signal.addEventListener('abort', giveUp, { once: true });
    socket.once('connect', () => resolve(null)).once('error', reject);
    socket.once('connect', () => socket.destroy());
  });
}
