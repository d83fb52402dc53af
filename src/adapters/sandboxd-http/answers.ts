import type { IncomingHttpHeaders } from 'node:http';
import { LinkError, type SandboxTarget, type StdinIn } from '#src/ports/sandbox-link.ts';
import {
  type BindReply,
  bootHeader,
  type CallAnswer,
  type FileReply,
  type Identity,
  longestStreamBytes,
  sandboxHeader,
  type ScreenReply,
  type StdinReply,
  type StreamLine,
  streamPieceBytes,
} from '#src/protocol/sandboxd/wire.ts';
import {
  answerCheck,
  leadingCheck,
  lineCheck,
  type Refusal,
  refusalCheck,
  screenCheck,
  stdinCheck,
} from './untrusted.ts';

/**
 * Every answer says who gives it; a stranger's is never taken, whatever its status. Throws `other_sandbox` or
 * `other_boot`; an answer without our header comes from something that is no sandboxd at all, so a stranger.
 */
export function checkSpeaker(target: SandboxTarget, status: number, headers: IncomingHttpHeaders): void {
  if (status === 421 || headers[sandboxHeader] !== target.sandbox)
    throw new LinkError({ kind: 'other_sandbox' });
  const boot = headers[bootHeader];
  const isOther = status === 412 || (target.boot !== null && boot !== target.boot);
  if (isOther) throw new LinkError({ kind: 'other_boot', boot: typeof boot === 'string' ? boot : null });
}

/** Trainers read it. */
const longestMessage = 2_000;

/** What sandboxd refused, in its own words. */
export function refusalOf(status: number, body: string): LinkError {
  const json = jsonOrNull(body);
  const error: Refusal = refusalCheck.Check(json)
    ? json.error
    : { code: 'unknown', message: `status ${status}` };
  const { code, message, errno, exitCode } = error;
  return new LinkError({
    kind: 'refused',
    status,
    code,
    message: message.slice(0, longestMessage),
    ...(errno !== undefined && { errno }),
    ...(exitCode !== undefined && { exitCode }),
  });
}

export function parseJson(text: string): unknown {
  return jsonOrNull(text) ?? malformed();
}

function jsonOrNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/**
 * Light checks: sandboxd is ours and its version is agreed on at bind. They catch an answer that broke off or a mistake
 * of our own before it is taken for a result. Each throws `maybe_sent`. What a command may have written in sandboxd's place
 * and trainers receive has schemas: `untrusted.ts`.
 */
export function identity(json: unknown): Identity {
  return has(json, 'boot', 'string') && has(json, 'calls', 'object') ? (json as Identity) : malformed();
}

export function bindReply(json: unknown): BindReply {
  const reply: BindReply = identity(json);
  return reply.missing === undefined || Array.isArray(reply.missing) ? reply : malformed();
}

export function okReply(json: unknown): { readonly ok: true; readonly durationMs: number } {
  return has(json, 'durationMs', 'number') ? { ok: true, durationMs: json.durationMs } : malformed();
}

export function fileReply(json: unknown): FileReply {
  if (!has(json, 'bytes', 'number')) return malformed();
  const { bytes } = json;
  const entries = has(json, 'entries', 'number') && { entries: json.entries };
  return { bytes, ...entries, ...(leadingCheck.Check(json) && { leading: json.leading }) };
}

/** Clamps `received` to the bytes sent. An invalid reply comes from a root command, so stdin counts as closed. */
export function stdinReply(json: unknown, { offset, bytes }: Pick<StdinIn, 'offset' | 'bytes'>): StdinReply {
  if (!stdinCheck.Check(json)) return { received: offset, open: false };
  const { received, open } = json;
  return { received: Math.min(Math.max(received, offset), offset + bytes.length), open };
}

/** A root command can speak in sandboxd's place. */
export function screenReply(json: unknown): ScreenReply {
  if (!screenCheck.Check(json)) return { screen: null, reason: 'the sandbox does not answer as it should' };
  const { screen, reason } = json;
  return screen === null ? { screen, reason } : { screen, reason: null };
}

/** Its text as a line of sandboxd's; what it never writes is an end. */
export function streamLine(text: string): StreamLine {
  const json = jsonOrNull(text);
  if (!lineCheck.Check(json) || 'end' in json) return { end: true };
  const bytes = 'lost' in json ? json.lost : Buffer.byteLength(json.base64, 'base64');
  const isValid = json.at + bytes <= longestStreamBytes && ('lost' in json || bytes <= streamPieceBytes);
  return isValid ? json : { end: true };
}

export function callAnswer(json: unknown): CallAnswer | 'running' {
  if (has(json, 'state', 'string') && json.state === 'running') return 'running';
  return answerCheck.Check(json) ? json : malformed();
}

type Named = { string: string; number: number; boolean: boolean; object: object };

function has<Field extends string, Kind extends keyof Named>(
  json: unknown,
  field: Field,
  kind: Kind,
): json is Record<Field, Named[Kind]> {
  if (typeof json !== 'object' || json === null) return false;
  const value: unknown = Object.getOwnPropertyDescriptor(json, field)?.value;
  return typeof value === kind && value !== null;
}

function malformed(): never {
  throw new LinkError({ kind: 'maybe_sent', detail: 'the answer is not one that sandboxd gives' });
}
