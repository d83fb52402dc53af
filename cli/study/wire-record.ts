import { Type } from 'typebox';
import { Value } from 'typebox/value';
import type { HttpClient } from '../gateway/http-client.ts';
import { readOutput } from '../proving/read-answers.ts';
import type { StudiedCall } from './rollout.ts';
import type { CountTokens } from './tokens.ts';

/** A tool call or a grade. */
const OfRollout = Type.Object({ trace_id: Type.String() });
const ToolCall = Type.Object({
  type: Type.Literal('function_call'),
  call_id: Type.String(),
  name: Type.String(),
  arguments: Type.String(),
  trace_id: Type.String(),
});

/** What went over the wire for one rollout. */
export type WireTrace = { readonly calls: readonly StudiedCall[]; readonly tookMs: number };

export type Recording = {
  readonly client: HttpClient;
  /** Of a rollout by its trace id, taken out of the record. */
  take(traceId: string): WireTrace;
};

/**
 * Records every tool call that this client sends, for scripts and models alike, as the trainer sees it. A repeated call is one
 * call, with its last answer.
 */
export function recording(client: HttpClient, countTokens: CountTokens, nowMs: () => number): Recording {
  const seen = new Map<string, { readonly startedMs: number; readonly calls: Map<string, StudiedCall> }>();
  const traceOf = (traceId: string, startedMs: number) => {
    const trace = seen.get(traceId) ?? { startedMs, calls: new Map<string, StudiedCall>() };
    seen.set(traceId, trace);
    return trace;
  };
  const send: HttpClient['send'] = async (request) => {
    const { body } = request;
    const startedMs = nowMs();
    if (Value.Check(OfRollout, body)) traceOf(body.trace_id, startedMs);
    const answer = await client.send(request);
    if (Value.Check(ToolCall, body)) {
      const output = readOutput(answer);
      const before = traceOf(body.trace_id, startedMs).calls.get(body.call_id)?.tookMs ?? 0;
      traceOf(body.trace_id, startedMs).calls.set(body.call_id, {
        tool: body.name,
        arguments: body.arguments,
        outputBytes: output === null ? null : Buffer.byteLength(output),
        outputTokens: output === null ? null : countTokens(output),
        // What waited for a sandbox, or was sent again, took its time all the same.
        tookMs: before + nowMs() - startedMs,
      });
    }
    return answer;
  };
  return {
    client: { ...client, send },
    take: (traceId) => {
      const trace = seen.get(traceId);
      seen.delete(traceId);
      return {
        calls: [...(trace?.calls.values() ?? [])],
        tookMs: trace === undefined ? 0 : nowMs() - trace.startedMs,
      };
    },
  };
}
