import { callId } from '#src/model/ids.ts';
import type { Admitted, Outcome } from '#src/model/outcome.ts';
import type { Epoch } from '#src/model/rollout.ts';
import type { CallSummary } from '#src/ports/fleet/records.ts';
import { epochOf } from './record.ts';
import { listOf, textOf, type Reply } from './reply.ts';

/** Bytes of a tool's name that a summary keeps: a model may ask for a tool by any name. */
const toolMaxChars = 48;

export const storedTool = (tool: string): string => tool.slice(0, toolMaxChars);

/** The stored array; its fields are numbered in lib/call.lua. */
type Stored = readonly [
  tool: string,
  digest: string,
  startedAtMs: number,
  dispatched: 0 | 1,
  admitted: Admitted,
  outcome: Outcome | null,
  code: string | null,
  exitCode: number | null,
  durationMs: number | null,
  waitedMs: number,
  outputBytes: number,
  answered: 0 | 1,
];

export type StoredCall = {
  readonly summary: CallSummary;
  readonly digest: string;
  readonly epoch: Epoch | null;
};

/** A call as `callReply()` of lib/call.lua answers it: id, stored text, sandbox and boot where it ran. */
export function callOf(reply: Reply | undefined): StoredCall {
  const [call, text, sandbox, boot] = listOf(reply);
  const stored = JSON.parse(textOf(text)) as Stored;
  const epoch = epochOf(sandbox, boot);
  return {
    epoch,
    digest: stored[1],
    summary: { call: callId(textOf(call)), sandbox: epoch?.sandbox ?? null, ...named(stored) },
  };
}

function named(stored: Stored): Omit<CallSummary, 'call' | 'sandbox'> {
  const [tool, , startedAtMs, , admitted, outcome, code, exitCode, durationMs, waitedMs, outputBytes] =
    stored;
  const state = outcome === null ? 'dispatched' : 'settled';
  return {
    tool,
    state,
    outcome,
    code,
    admitted,
    exitCode,
    startedAtMs,
    durationMs,
    waitedMs,
    outputBytes,
  };
}
