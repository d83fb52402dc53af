import type { FailureCode } from '#src/failure/codes.ts';
import type { Admitted, Outcome } from '#src/model/outcome.ts';
import type {
  AdmitReply,
  AdmitRequest,
  Answered,
  CallStore,
  KeptText,
  Repeated,
  Settlement,
  SpentReason,
  ToldCall,
} from '#src/ports/fleet/calls.ts';
import type { SetupEnd } from '#src/ports/fleet/setup.ts';
import { unknownRollout, evidenceText, recordOf, recordOrNull, epochOf } from './record.ts';
import { type RunScript, scriptsOver, textOrNull } from './script-runner.ts';
import type { calls } from './scripts/calls.ts';
import { itemsOf } from './scripts/contract.ts';
import type { StoredCall as Stored } from './scripts/shapes.ts';
import type { Static } from 'typebox';
import { callId } from '#src/model/ids.ts';
import type { Epoch } from '#src/model/rollout.ts';
import type { CallSummary, RolloutRecord } from '#src/ports/fleet/records.ts';

/** `setupBytesOfTenant`: what the set-up of one tenant's open rollouts may fill. */
export function callStore(run: RunScript, setupBytesOfTenant: number): CallStore {
  const { ask, exchange } = scriptsOver(run);
  return {
    admit: async (request) => {
      const { setup } = request;
      const asked = admitAsk(request, setupBytesOfTenant);
      const { reply } = await exchange(
        'admit',
        asked,
        keptAs(request.arguments),
        ...(setup === undefined ? [] : [setup.sent ?? '']),
      );
      return admitReplyOf(reply);
    },
    settle: async (settlement) => {
      const { arguments: said, output, setup } = settlement;
      const sent = setup?.sent === undefined ? [] : [setup.sent];
      const raw = [keptAs(said), keptAs(output), ...sent];
      const { reply } = await exchange('settle', settleAsk(settlement, setupBytesOfTenant), ...raw);
      if (reply === null) throw unknownRollout(settlement.key);
      const { first, tainted, call, repeated } = reply;
      const { summary, digest } = callOf(call);
      return { first, tainted, summary, digest, repeated: repeatedOf(repeated) };
    },
    overdue: async (graceMs, lookAgainMs, limit) =>
      itemsOf(await ask('overdue-calls', { graceMs, lookAgainMs, limit })).map(
        ({ rollout, call, lookAgainAtMs, setup }) => {
          const { summary, digest } = callOf(call);
          return { rollout: recordOf(rollout), summary, digest, lookAgainAtMs, setup };
        },
      ),
    withdraw: ({ rollout, summary, lookAgainAtMs }, counted) =>
      ask('withdraw-call', { key: rollout.key, call: summary.call, counted, lookAgainAtMs }),
    unsent: async (key, call, sender, counted) => {
      await ask('unsent-call', { key, call, sender, counted });
    },
    lookup: async (key, call) => {
      const reply = await ask('lookup-call', { key, call });
      if (reply === null) return null;
      const repeated = reply.repeated === undefined ? null : repeatedOf(reply.repeated);
      return { ...callOf(reply.call), setup: reply.setup, repeated };
    },
    timeLeft: (key, rolloutMs) => ask('time-left', { key, rolloutMs }),
    list: async (key) => {
      const listed = itemsOf(await ask('list-calls', { key, withTexts: false })).map(
        (call) => callOf(call).summary,
      );
      return listed.sort(byStart);
    },
    transcript: async (key) => {
      const { reply, texts } = await exchange('list-calls', { key, withTexts: true });
      const told = itemsOf(reply).map((call, index) => toldOf(call, texts[2 * index], texts[2 * index + 1]));
      return told.sort((one, other) => byStart(one.summary, other.summary));
    },
  };
}

/** Calls of one millisecond by their ids, because Redis lists them in any order, and two gradings must read the same. */
const byStart = (one: CallSummary, other: CallSummary): number =>
  one.startedAtMs - other.startedAtMs || (one.call < other.call ? -1 : 1);

function admitAsk(request: AdmitRequest, mostBytes: number) {
  const { key, call, sender, tool, digest, timeoutMs, idleMs, budget, activation, setup } = request;
  return {
    key,
    call,
    sender,
    tool: storedTool(tool),
    digest,
    timeoutMs: Math.round(timeoutMs),
    idleMs: Math.round(idleMs),
    budget: budget ?? undefined,
    activation: activation ?? undefined,
    setup: setup && { bytes: setup.bytes, mostBytes },
  };
}

/** As lib/call.lua keeps it. */
const keptAs = (text: KeptText | undefined): string =>
  text === undefined ? '' : `${text.whole} ${text.text}`;

function admitReplyOf(reply: AdmitWire): AdmitReply {
  switch (reply.kind) {
    case 'dispatch':
      return dispatchOf(recordOf(reply.rollout), reply);
    case 'in_journal':
    case 'ran_nothing':
    case 'output_gone':
    case 'answer_expired':
      return { ...answeredOf(reply), summary: callOf(reply.call).summary };
    case 'conflict':
    case 'setup_over':
      return reply;
    case 'refused':
      return { kind: 'refused', reason: reply.reason as SpentReason, rollout: recordOf(reply.rollout) };
    case 'broken':
      return { kind: 'broken', rollout: recordOf(reply.rollout) };
    case 'not_active':
      return { kind: 'not_active', rollout: recordOrNull(reply.rollout) };
    case 'barred':
      return barredOf(reply);
  }
}

type AdmitWire = Static<typeof calls.admit.reply>;
type RepeatedWire = NonNullable<Static<typeof calls.settle.reply>>['repeated'];

function repeatedOf(repeated: RepeatedWire): Repeated {
  switch (repeated.kind) {
    case 'broken':
      return { kind: 'broken', rollout: recordOf(repeated.rollout) };
    case 'barred':
      return barredOf(repeated);
    case 'brought':
      return repeated;
    case 'in_journal':
    case 'ran_nothing':
    case 'output_gone':
    case 'answer_expired':
      return answeredOf(repeated);
  }
}

function answeredOf(repeated: Exclude<RepeatedWire, { kind: 'broken' | 'barred' | 'brought' }>): Answered {
  switch (repeated.kind) {
    case 'in_journal':
      return { kind: 'in_journal', rollout: recordOf(repeated.rollout) };
    case 'ran_nothing':
      return { kind: 'ran_nothing', rollout: recordOf(repeated.rollout), text: repeated.text ?? null };
    case 'output_gone':
    case 'answer_expired':
      return { kind: repeated.kind };
  }
}

function barredOf({ code, admitted, rollout }: Extract<AdmitWire, { kind: 'barred' }>) {
  return {
    kind: 'barred',
    code: code as FailureCode,
    rollout: recordOf(rollout),
    admitted: admitted as Admitted,
  } as const;
}

type DispatchWire = Omit<Extract<AdmitWire, { kind: 'dispatch' }>, 'kind' | 'rollout'>;

function dispatchOf(rollout: RolloutRecord, { again, activated, timeLeftMs }: DispatchWire): AdmitReply {
  const { epoch } = rollout;
  if (epoch === null) throw new TypeError(`an active rollout without a sandbox: ${rollout.key}`);
  return { kind: 'dispatch', rollout, epoch, again, activated, timeLeftMs: timeLeftMs ?? null };
}

function settleAsk(settlement: Settlement, mostBytes: number) {
  const { key, call, digest, tool, outcome, code, admitted, exitCode, durationMs, waitedMs } = settlement;
  const { outputBytes, taint, idleMs, ranIn, backgroundMs, onlyNew, unserved, isAnswered, text, setup } =
    settlement;
  return {
    key,
    call,
    digest,
    tool: storedTool(tool),
    outcome,
    code: code ?? undefined,
    admitted,
    exitCode: exitCode ?? undefined,
    durationMs: durationMs === null ? undefined : Math.round(durationMs),
    backgroundMs,
    waitedMs: Math.round(waitedMs),
    outputBytes,
    taint: taint === null ? undefined : taintAsk(taint),
    idleMs: Math.round(idleMs),
    ranIn,
    unserved,
    onlyNew,
    isAnswered,
    text,
    setup: setup && setupEndAsk(setup, mostBytes),
  };
}

const setupEndAsk = ({ digest, bytes }: SetupEnd, mostBytes: number) => ({
  digest,
  ...(bytes !== undefined && { bytes, mostBytes }),
});

const taintAsk = ({ code, evidence, suspected }: NonNullable<Settlement['taint']>) => ({
  code,
  evidence: evidenceText(evidence),
  ...(suspected && { suspected }),
});

function toldOf(call: Stored, said: string | undefined, answered: string | undefined): ToldCall {
  const output = keptIn(answered);
  return {
    summary: callOf(call).summary,
    arguments: keptIn(said),
    output: output === null ? null : { ...wholeAndText(output.text), endedAtMs: output.whole },
  };
}

/** What stands behind the first number; of an output that is when it ended, and the same again behind it. */
function keptIn(reply: string | undefined): KeptText | null {
  const kept = textOrNull(reply);
  return kept === null ? null : wholeAndText(kept);
}

function wholeAndText(kept: string): KeptText {
  const end = kept.indexOf(' ');
  return { whole: Number(kept.slice(0, end)), text: kept.slice(end + 1) };
}

/** Bytes of a tool's name that a summary keeps: a model may ask for a tool by any name. */
const toolMaxChars = 48;

export const storedTool = (tool: string): string => tool.slice(0, toolMaxChars);

type KnownCall = {
  readonly summary: CallSummary;
  readonly digest: string;
  readonly epoch: Epoch | null;
};

function callOf({ call, stored, sandbox, boot }: Stored): KnownCall {
  const epoch = epochOf(sandbox, boot);
  return {
    epoch,
    digest: stored[1],
    summary: { call: callId(call), sandbox: epoch?.sandbox ?? null, ...named(stored) },
  };
}

function named(stored: Stored['stored']): Omit<CallSummary, 'call' | 'sandbox'> {
  const [tool, , startedAtMs, , admitted, outcome, code, exitCode, durationMs, waitedMs, outputBytes] =
    stored;
  return {
    tool,
    state: outcome === null ? 'dispatched' : 'settled',
    outcome: outcome as Outcome | null,
    code,
    admitted: admitted as Admitted,
    exitCode,
    startedAtMs,
    durationMs,
    waitedMs,
    outputBytes,
  };
}
