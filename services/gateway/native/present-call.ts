import type { CallAnswer } from '#src/protocol/native/calls.ts';
import type { CallResult } from '../core-interface.ts';

/** A settled call as the native face tells it. */
export function presentCallResult(result: CallResult): CallAnswer {
  return {
    call_id: result.callId,
    outcome: result.outcome,
    code: result.code,
    exit_code: result.exitCode,
    signal: result.signal,
    output: result.output,
    stdout: result.stdout,
    stderr: result.stderr,
    truncated: {
      stdout: result.truncated.stdout,
      stderr: result.truncated.stderr,
      total_bytes: result.truncated.totalBytes,
    },
    timed_out: result.timedOut,
    oom_killed: result.outOfMemoryKilled,
    duration_ms: result.durationMs,
    waited_ms: result.waitedMs,
    epoch: result.epoch,
    replayed: result.replayed,
  };
}
