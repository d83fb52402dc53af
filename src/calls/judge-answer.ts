import type { Settlement } from '../ports/fleet/calls.ts';
import type { CallAnswer, Captured } from '../protocol/sandboxd/wire.ts';
import { renderOutput } from '../tools/render-output.ts';
import type { Running, StoredResult, Tracked } from './work.ts';

/** What a settled call is, but for where and when it ran. */
export type Judged = {
  readonly settlement: Omit<Settlement, 'waitedMs'>;
  /** Null where the answer is no answer: an infrastructure failure. */
  readonly result: Omit<StoredResult, 'waitedMs'> | null;
};

type JudgedCall = Pick<Running, 'work' | 'rollout'>;

/**
 * Whose doing was it? A command that ran to any end of its own is an answer, whatever its exit code; only a tool
 * whose program the model does not choose can say by its exit code that its backend failed, and that is ours. Where
 * the trainer ran commands or wrote files itself they may have been the policy's, and the exit code is one like others.
 */
export function judgeAnswer(running: JudgedCall, answer: CallAnswer): Judged {
  const { work, rollout } = running;
  if (saysBackendFailed(work, answer) && !rollout.trainerActed)
    return { settlement: dependencyFailed(work, answer), result: null };
  const result = resultOf(running, answer);
  return { settlement: { ...settlementOf(work, answer), ...codesOf(answer), answer: null }, result };
}

export function saysBackendFailed(work: Tracked, answer: CallAnswer): boolean {
  return answer.ending.kind === 'exited' && work.infrastructureExits.includes(answer.ending.exitCode);
}

type Codes = Pick<StoredResult, 'outcome' | 'code'>;

function codesOf({ ending, evidence }: CallAnswer): Codes {
  switch (ending.kind) {
    case 'timed_out':
      return { outcome: 'timed_out', code: 'command_timeout' };
    case 'cancelled':
      return { outcome: 'cancelled', code: null };
    case 'not_started':
      return { outcome: 'refused', code: 'command_not_started' };
    case 'exited':
    case 'signalled':
      return {
        outcome: 'completed',
        code: (evidence.outOfMemoryKills ?? 0) > 0 ? 'command_out_of_memory' : null,
      };
  }
}

function settlementOf(work: Tracked, answer: CallAnswer) {
  return {
    key: work.key,
    call: work.call,
    digest: work.digest,
    tool: work.tool,
    admitted: 'yes' as const,
    exitCode: answer.ending.kind === 'exited' ? answer.ending.exitCode : null,
    durationMs: Math.round(answer.evidence.durationMs),
    outputBytes: answer.stdout.totalBytes + answer.stderr.totalBytes,
    taint: null,
    broken: null,
    idleMs: work.environment.limits.idleMs,
  };
}

function dependencyFailed(work: Tracked, answer: CallAnswer): Judged['settlement'] {
  const settlement = settlementOf(work, answer);
  const said = answer.stderr.head.slice(0, 500);
  return {
    ...settlement,
    outcome: 'infrastructure_failure',
    code: 'dependency_failed',
    answer: null,
    taint: { code: 'dependency_failed', evidence: { tool: work.tool, exit_code: settlement.exitCode, said } },
  };
}

function resultOf({ work, rollout }: JudgedCall, answer: CallAnswer): NonNullable<Judged['result']> {
  const { ending, stdout, stderr, evidence } = answer;
  const { texts, limits } = work.environment;
  return {
    callId: work.call,
    ...codesOf(answer),
    exitCode: 'exitCode' in ending ? (ending.exitCode ?? null) : null,
    signal: 'signal' in ending ? (ending.signal ?? null) : null,
    output: renderOutput(answer, texts, limits.outputBytes).text,
    stdout: work.keepStreams ? textOf(stdout) : '',
    stderr: work.keepStreams ? textOf(stderr) : '',
    truncated: {
      stdout: stdout.cutBytes > 0,
      stderr: stderr.cutBytes > 0,
      totalBytes: stdout.totalBytes + stderr.totalBytes,
    },
    timedOut: ending.kind === 'timed_out',
    outOfMemoryKilled: (evidence.outOfMemoryKills ?? 0) > 0,
    durationMs: Math.round(evidence.durationMs),
    epoch: rollout.epoch,
  };
}

function textOf(captured: Captured): string {
  return captured.head + captured.tail;
}
