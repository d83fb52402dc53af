import type { FailureCode } from '#src/failure/codes.ts';
import type { Admitted, Outcome } from '#src/model/outcome.ts';
import type {
  AdmitReply,
  AdmitRequest,
  CallStore,
  OverdueCall,
  KeptText,
  Settlement,
  SettleReply,
  SpentReason,
  ToldCall,
} from '#src/ports/fleet/calls.ts';
import { unknownRollout, evidenceText, recordOf, recordOrNull, epochOf } from './record.ts';
import { listOf, numberOf, textOf, textOrNull, type Reply, type RunScript } from './script-runner.ts';
import { callId } from '#src/model/ids.ts';
import type { Epoch } from '#src/model/rollout.ts';
import type { CallSummary } from '#src/ports/fleet/records.ts';

export function callStore(run: RunScript): CallStore {
  return {
    admit: async (request) => admitReplyOf(await run('admit', ...admitArguments(request))),
    settle: async (settlement) => {
      const reply = await run('settle', ...settleArguments(settlement));
      if (reply === null) throw unknownRollout(settlement.key);
      return settleReplyOf(reply);
    },
    overdue: async (graceMs, lookAgainMs, limit) =>
      listOf(await run('overdue-calls', graceMs, lookAgainMs, limit)).map(overdueOf),
    withdraw: async ({ rollout, summary, lookAgainAtMs }, counted) =>
      (await run('withdraw-call', rollout.key, summary.call, counted ? 1 : 0, lookAgainAtMs)) === 1,
    unsent: async (key, call, counted) => {
      await run('unsent-call', key, call, counted ? 1 : 0);
    },
    lookup: async (key, call) => {
      const reply = await run('lookup-call', key, call);
      if (reply === null) return null;
      const [stored, answer] = listOf(reply);
      return { ...callOf(stored), answer: textOrNull(answer) };
    },
    list: async (key) => {
      const calls = listOf(await run('list-calls', key)).map((reply) => callOf(reply).summary);
      return calls.sort((one, other) => one.startedAtMs - other.startedAtMs);
    },
    transcript: async (key) => {
      const calls = listOf(await run('read-transcript', key)).map(toldOf);
      return calls.sort((one, other) => one.summary.startedAtMs - other.summary.startedAtMs);
    },
  };
}

/** Null has no place in a script's arguments: an empty text stands for it. */
function admitArguments(request: AdmitRequest): readonly (string | number)[] {
  const { key, call, tool, digest, timeoutMs, idleMs, budget, activation } = request;
  return [
    key,
    call,
    storedTool(tool),
    digest,
    Math.round(timeoutMs),
    Math.round(idleMs),
    budget?.toolCalls ?? '',
    budget?.rolloutMs ?? '',
    activation?.generation ?? '',
    activation?.boot ?? '',
    keptAs(request.arguments),
  ];
}

/** As lib/call.lua keeps it. */
const keptAs = (text: KeptText | undefined): string =>
  text === undefined ? '' : `${text.whole} ${text.text}`;

/** `{ kind, record, … }`, as `admit` answers. */
function admitReplyOf(reply: Reply): AdmitReply {
  const [answered, record, extra, answer] = listOf(reply);
  const kind = textOf(answered);
  switch (kind) {
    case 'dispatch':
      return dispatchOf(record, extra, answer);
    case 'settled':
      return { kind, answer: textOf(answer), summary: callOf(extra).summary };
    case 'answer_expired':
      return { kind, summary: callOf(extra).summary };
    case 'conflict':
      return { kind };
    case 'refused':
      return { kind, reason: textOf(extra) as SpentReason, rollout: recordOf(record) };
    case 'broken':
      return { kind, rollout: recordOf(record) };
    case 'not_active':
      return { kind, rollout: recordOrNull(record) };
    case 'barred':
      return {
        kind,
        code: textOf(extra) as FailureCode,
        rollout: recordOf(record),
        admitted: textOf(answer) as Admitted,
      };
    default:
      throw new TypeError(`an admission answered ${JSON.stringify(kind)}`);
  }
}

function dispatchOf(
  record: Reply | undefined,
  again: Reply | undefined,
  activated: Reply | undefined,
): AdmitReply {
  const rollout = recordOf(record);
  if (rollout.epoch === null) throw new TypeError(`an active rollout without a sandbox: ${rollout.key}`);
  return {
    kind: 'dispatch',
    rollout,
    epoch: rollout.epoch,
    again: isSet(again),
    activated: isSet(activated),
  };
}

const isSet = (flag: Reply | undefined): boolean => numberOf(flag) === 1;

function settleArguments(settlement: Settlement): readonly (string | number)[] {
  const { key, call, digest, tool, outcome, code, admitted, exitCode, durationMs, waitedMs } = settlement;
  const { outputBytes, answer, taint, idleMs, ranIn } = settlement;
  return [
    key,
    call,
    digest,
    storedTool(tool),
    outcome,
    code ?? '',
    admitted,
    exitCode ?? '',
    durationMs === null ? '' : Math.round(durationMs),
    Math.round(waitedMs),
    outputBytes,
    answer ?? '',
    taint?.code ?? '',
    taint === null ? '' : evidenceText(taint.evidence),
    Math.round(idleMs),
    ranIn ?? '',
    keptAs(settlement.arguments),
    keptAs(settlement.output),
  ];
}

function settleReplyOf(reply: Reply): SettleReply {
  const [first, answer, stored, tainted = 0] = listOf(reply);
  const { summary, digest } = callOf(stored);
  return {
    first: numberOf(first) === 1,
    answer: textOrNull(answer),
    summary,
    digest,
    tainted: numberOf(tainted) === 1,
  };
}

function toldOf(reply: Reply): ToldCall {
  const [stored, asked, answered] = listOf(reply);
  const output = keptIn(answered);
  return {
    summary: callOf(stored).summary,
    arguments: keptIn(asked),
    output: output === null ? null : { ...wholeAndText(output.text), endedAtMs: output.whole },
  };
}

/** What stands behind the first number; of an output that is when it ended, and the same again behind it. */
function keptIn(reply: Reply | undefined): KeptText | null {
  const kept = textOrNull(reply);
  return kept === null ? null : wholeAndText(kept);
}

function wholeAndText(kept: string): KeptText {
  const end = kept.indexOf(' ');
  return { whole: Number(kept.slice(0, end)), text: kept.slice(end + 1) };
}

function overdueOf(reply: Reply): OverdueCall {
  const [record, stored, lookAgainAtMs] = listOf(reply);
  const { summary, digest } = callOf(stored);
  return { rollout: recordOf(record), summary, digest, lookAgainAtMs: numberOf(lookAgainAtMs) };
}

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

type StoredCall = {
  readonly summary: CallSummary;
  readonly digest: string;
  readonly epoch: Epoch | null;
};

/** A call as `Call.reply` of lib/call.lua answers it: id, stored text, sandbox and boot where it ran. */
function callOf(reply: Reply | undefined): StoredCall {
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
