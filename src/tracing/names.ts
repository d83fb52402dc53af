import { createHash } from 'node:crypto';
import type { SandboxId } from '../model/ids.ts';
import type { RolloutKey } from '../model/rollout.ts';
import type { SpanContext } from '../ports/tracer.ts';

/**
 * The root of the trace of a rollout, of a launch: from its name alone, so that any gateway and any
 * controller joins or links it, and no word of it passes through Redis, the queue or a sandbox. Whose ids these are says
 * the text before the name: one and the same id of a rollout and of a sandbox makes two traces.
 */
export const rolloutRoot = (key: RolloutKey): SpanContext => rootOf('rollout', key);
export const launchRoot = (sandbox: SandboxId): SpanContext => rootOf('launch', sandbox);

function rootOf(what: string, name: string): SpanContext {
  const hex = createHash('sha256').update(`corral ${what} ${name}`).digest('hex');
  return { traceId: hex.slice(0, 32), spanId: hex.slice(32, 48) };
}

/** W3C trace context, version 00, whose ids are not all zeros. */
const pattern =
  /^00-(?<traceId>(?!0{32})[0-9a-f]{32})-(?<spanId>(?!0{16})[0-9a-f]{16})-(?<flags>[0-9a-f]{2})$/;

/** The header `traceparent` of a request. Null: there is none, or it is none; a caller's slip is no reason to fail a call. */
export function readTraceparent(header: unknown): SpanContext | null {
  if (typeof header !== 'string') return null;
  const { traceId, spanId, flags } = pattern.exec(header)?.groups ?? {};
  if (traceId === undefined || spanId === undefined || flags === undefined) return null;
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

export function writeTraceparent({ traceId, spanId, sampled = false }: SpanContext): string {
  return `00-${traceId}-${spanId}-${sampled ? '01' : '00'}`;
}
