import type { Delivery, Reply } from './http.ts';
import type { Discard } from './record.ts';

type JsonObject = { readonly [key: string]: unknown };

/** JSON text as an object; null for anything else. */
export function readObject(text: string): JsonObject | null {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

/** What the policy is shown of an answer below 500: its output, and of anything else the raw body, as platforms do. */
export function shownText(reply: Reply, callId: string): { readonly text: string; readonly leaked: boolean } {
  const body = readObject(reply.body);
  const output = body?.['output'];
  const proper =
    reply.status === 200 && body?.['type'] === 'function_call_output' && body['call_id'] === callId;
  return proper && typeof output === 'string'
    ? { text: output, leaked: false }
    : { text: reply.body, leaked: true };
}

/** The score in a grader's answer, or null when there is no finite one. */
export function readScore(reply: Reply): number | null {
  const score = reply.status === 200 ? readObject(reply.body)?.['score'] : undefined;
  return typeof score === 'number' && Number.isFinite(score) ? score : null;
}

/** Why a request that was given up discards its rollout, read from the error body of the last try. */
export function discardOf(delivery: Extract<Delivery, { kind: 'gave_up' }>, at: Discard['at']): Discard {
  if (delivery.reply === null) {
    return { kind: 'discarded', code: 'connection_lost', cause: null, at, message: delivery.lost ?? '' };
  }
  const error = readObject(delivery.reply.body)?.['error'];
  const { code, message, evidence } = isObject(error) ? error : {};
  return {
    kind: 'discarded',
    code: typeof code === 'string' ? code : `status_${delivery.reply.status}`,
    cause: causeIn(evidence),
    at,
    message: typeof message === 'string' ? message : delivery.reply.body.slice(0, 200),
  };
}

function causeIn(evidence: unknown): string | null {
  const cause = isObject(evidence) ? evidence['cause'] : undefined;
  return typeof cause === 'string' ? cause : null;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
