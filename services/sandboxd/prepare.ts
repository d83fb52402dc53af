import type { PrepareReply, PrepareRequest } from '#src/protocol/sandboxd/wire.ts';
import { execProcess } from './calls/start-call.ts';
import { type CommandResult, runCommand } from './command/run-command.ts';
import { monotonicMs } from './clock.ts';
import type { Daemon } from './daemon.ts';
import { WireError } from './wire-error.ts';

/** Of each stream of a failing command, for the operator who reads why a template does not start. */
const keepBytes = 4096;

/** Runs a template's commands one after another, as the policy's user. Throws `prepare_failed` at the first that fails. */
export async function prepare(
  daemon: Daemon,
  request: PrepareRequest,
  gone: AbortSignal,
): Promise<PrepareReply> {
  const startMs = monotonicMs();
  for (const argv of request.commands) {
    const timeoutMs = Math.max(1, Math.ceil(startMs + request.timeoutMs - monotonicMs()));
    const parts = execProcess(daemon.config, daemon.env, { kind: 'exec', argv });
    const result = await runCommand({ ...parts, timeoutMs, keepBytes }, daemon.leaders, gone);
    if (result.ending.kind !== 'exited' || result.ending.exitCode !== 0) throw failed(argv, result);
  }
  return { ok: true, durationMs: Math.round(monotonicMs() - startMs) };
}

function failed(argv: readonly string[], { ending, stderr }: CommandResult): WireError {
  const said = stderr.tail.length > 0 ? stderr.tail : stderr.head;
  const message = `prepare: ${JSON.stringify(argv)} ended with ${JSON.stringify(ending)}: ${said.toString('utf8')}`;
  return new WireError('prepare_failed', message);
}
