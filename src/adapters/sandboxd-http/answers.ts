import type { IncomingHttpHeaders } from 'node:http';
import { LinkError, type SandboxTarget } from '#src/ports/sandbox-link.ts';
import {
  type BindReply,
  bootHeader,
  type CallAnswer,
  type FileReply,
  type Identity,
  type SandboxdErrorBody,
  sandboxHeader,
  type StdinReply,
  type StreamLine,
} from '#src/protocol/sandboxd/wire.ts';

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

/** What sandboxd refused, in its own words. */
export function refusalOf(status: number, body: string): LinkError {
  const { error } = parseJson(body) as Partial<SandboxdErrorBody>;
  const { code = 'unknown', message = `status ${status}`, errno, exitCode } = error ?? {};
  return new LinkError({
    kind: 'refused',
    status,
    code,
    message,
    ...(errno !== undefined && { errno }),
    ...(exitCode !== undefined && { exitCode }),
  });
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return malformed();
  }
}

/**
 * Light checks: sandboxd is ours and its version is agreed on at bind. They catch an answer that broke off or a mistake
 * of our own before it is taken for a result. Each throws `maybe_sent`.
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
  return { bytes: json.bytes, ...(has(json, 'entries', 'number') && { entries: json.entries }) };
}

export function stdinReply(json: unknown): StdinReply {
  if (!has(json, 'received', 'number') || !has(json, 'open', 'boolean')) return malformed();
  return { received: json.received, open: json.open };
}

/** Every field is checked: what a stream says reaches the trainer as it comes, and a command that runs as root can speak in sandboxd's place. */
export function streamLine(json: unknown): StreamLine {
  if (has(json, 'end', 'boolean')) return { end: true };
  if (!has(json, 'stream', 'string') || !has(json, 'at', 'number')) return malformed();
  const { stream, at } = json;
  if ((stream !== 'stdout' && stream !== 'stderr') || !isCount(at)) return malformed();
  if (has(json, 'lost', 'number') && isCount(json.lost)) return { stream, at, lost: json.lost };
  const isPiece = has(json, 'base64', 'string') && /^[A-Za-z0-9+/]*={0,2}$/.test(json.base64);
  return isPiece ? { stream, at, base64: json.base64 } : malformed();
}

const isCount = (value: number): boolean => Number.isSafeInteger(value) && value >= 0;

export function callAnswer(json: unknown): CallAnswer | 'running' {
  if (has(json, 'state', 'string') && json.state === 'running') return 'running';
  const isWhole = ['ending', 'stdout', 'stderr', 'evidence'].every((field) => has(json, field, 'object'));
  return isWhole ? (json as CallAnswer) : malformed();
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
