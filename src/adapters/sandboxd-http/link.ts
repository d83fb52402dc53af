import type { CallId, SandboxId } from '#src/model/ids.ts';
import type { FileIn, FileOut, SandboxLink } from '#src/ports/sandbox-link.ts';
import type { ConfirmRequest, FilePlace } from '#src/protocol/sandboxd/wire.ts';
import { bindReply, callAnswer, fileReply, identity, okReply } from './answers.ts';
import { createPools } from './pools.ts';
import { ask, askForBytes, type Question, type RequestContext } from './request.ts';

export type SandboxdHttpOptions = {
  /** The token of one sandbox; derived, never stored. */
  readonly tokenOf: (sandbox: SandboxId) => string;
  readonly connectTimeoutMs: number;
  /** Hears the status of every answer of a sandbox's own sandboxd. */
  readonly onAnswer?: RequestContext['onAnswer'];
  /** The span in which it is asked, for sandboxd's log; null: none. */
  readonly traceparent?: RequestContext['traceparent'];
};

/**
 * The line to sandboxd over HTTP, to `unix:/path` and `http://host:port`. Connections are kept alive per address and closed
 * when unused. Every method throws only `LinkError`.
 */
export function createSandboxdHttpLink(
  options: SandboxdHttpOptions,
): SandboxLink & { close(): Promise<void> } {
  const pools = createPools({ connectTimeoutMs: options.connectTimeoutMs });
  const { tokenOf, onAnswer = () => undefined, traceparent = () => null } = options;
  const context: RequestContext = { pools, tokenOf, onAnswer, traceparent };

  return {
    identity: (target, signal, look) =>
      ask(
        context,
        target,
        get(look === undefined ? '/identity' : `/identity?look=${look}`),
        identity,
        signal,
      ),
    probe: (target, depth, signal) => ask(context, target, post(`/probe?depth=${depth}`), okReply, signal),
    prepare: (target, commands, timeoutMs, signal) =>
      ask(context, target, onceOnly(post('/prepare', { commands, timeoutMs }, timeoutMs)), okReply, signal),
    bind: (target, request, signal) => ask(context, target, post('/bind', request), bindReply, signal),
    call: (target, call, request, waitMs, signal) =>
      ask(context, target, { ...callPath(call, waitMs), method: 'PUT', json: request }, callAnswer, signal),
    attach: (target, call, waitMs, signal) =>
      ask(context, target, { ...callPath(call, waitMs), method: 'GET' }, callAnswer, signal),
    output: (target, call, stream, signal) =>
      askForBytes(context, target, get(`${pathOf(call)}/output?stream=${stream}`), signal),
    confirm: (target, calls, signal) =>
      ask(context, target, post('/calls/confirm', { calls } satisfies ConfirmRequest), nothing, signal),
    cancel: (target, call, signal) => ask(context, target, post(`${pathOf(call)}/cancel`), nothing, signal),
    putFile: (target, to, body, signal) =>
      ask(context, target, { method: 'PUT', path: pathIn(to), bytes: body }, fileReply, signal),
    getFile: (target, from, signal) => askForBytes(context, target, get(pathOut(from)), signal),
    takeArtifacts: (target, request, signal) =>
      askForBytes(context, target, post('/artifacts', request), signal),
    close: () => pools.close(),
  };
}

function get(path: string): Question {
  return { method: 'GET', path };
}

function post(path: string, json?: object, heldMs?: number): Question {
  return { method: 'POST', path, ...(json && { json }), ...(heldMs !== undefined && { heldMs }) };
}

/** A second one would run beside the first. */
function onceOnly(question: Question): Question {
  return { ...question, repeatable: false };
}

function pathOf(call: CallId): string {
  return `/calls/${encodeURIComponent(call)}`;
}

function callPath(call: CallId, waitMs: number): { readonly path: string; readonly heldMs: number } {
  return { path: `${pathOf(call)}?waitMs=${waitMs}`, heldMs: waitMs };
}

function pathIn({ call, ...place }: FileIn): string {
  return placePath(place, call === undefined ? {} : { call });
}

function pathOut({ mostBytes, ...place }: FileOut): string {
  return placePath(place, { mostBytes: String(mostBytes) });
}

function placePath({ form, path, user }: FilePlace, more: Readonly<Record<string, string>>): string {
  const query = new URLSearchParams({ path, user, ...more });
  return `/${form === 'archive' ? 'archive' : 'files'}?${query.toString()}`;
}

function nothing(): void {}
