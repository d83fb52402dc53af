import { Type } from 'typebox';
import { contract, list, Nothing, orNothing } from './contract.ts';
import { Rollout, StoredCall } from './shapes.ts';

const key = Type.String();
const call = Type.String();

const barred = Type.Object({
  kind: Type.Literal('barred'),
  rollout: Rollout,
  code: Type.String(),
  admitted: Type.String(),
});
const broken = Type.Object({ kind: Type.Literal('broken'), rollout: Rollout });
const inJournal = { kind: Type.Literal('in_journal'), rollout: Rollout };
const text = Type.Optional(Type.String());
const ranNothing = { kind: Type.Literal('ran_nothing'), rollout: Rollout, text };

/** `Repeat.reply` of lib/repeat.lua. */
const Repeated = Type.Union([
  Type.Object({ kind: Type.Literal('brought') }),
  Type.Object(inJournal),
  Type.Object(ranNothing),
  Type.Object({ kind: Type.Literal('output_gone') }),
  Type.Object({ kind: Type.Literal('answer_expired') }),
  broken,
  barred,
]);

/** How a call of the set-up has ended. `bytes` of an upload. */
const SetupEnd = Type.Object({
  digest: Type.String(),
  bytes: Type.Optional(Type.Integer()),
  mostBytes: Type.Optional(Type.Integer()),
});

export const calls = {
  /** Raw: its arguments, for a grader, and what a replay of set-up sends. */
  admit: contract(
    {
      key,
      call,
      sender: Type.String(),
      tool: Type.String(),
      digest: Type.String(),
      timeoutMs: Type.Integer(),
      idleMs: Type.Integer(),
      budget: Type.Optional(Type.Object({ toolCalls: Type.Integer(), rolloutMs: Type.Number() })),
      activation: Type.Optional(
        Type.Object({
          generation: Type.Integer(),
          boot: Type.String(),
          idsApart: Type.Optional(Type.Boolean()),
        }),
      ),
      setup: Type.Optional(Type.Object({ bytes: Type.Integer(), mostBytes: Type.Integer() })),
    },
    Type.Union([
      Type.Object({
        kind: Type.Literal('dispatch'),
        rollout: Rollout,
        again: Type.Boolean(),
        activated: Type.Boolean(),
        timeLeftMs: Type.Optional(Type.Integer()),
      }),
      Type.Object({ ...inJournal, call: StoredCall }),
      Type.Object({ ...ranNothing, call: StoredCall }),
      Type.Object({ kind: Type.Literal('output_gone'), call: StoredCall }),
      Type.Object({ kind: Type.Literal('answer_expired'), call: StoredCall }),
      Type.Object({ kind: Type.Literal('conflict') }),
      Type.Object({ kind: Type.Literal('setup_over') }),
      Type.Object({ kind: Type.Literal('refused'), rollout: Rollout, reason: Type.String() }),
      broken,
      Type.Object({ kind: Type.Literal('not_active'), rollout: Type.Optional(Rollout) }),
      barred,
    ]),
  ),
  /** Raw: for a grader its arguments and its output, and what a replay of an upload sends. */
  settle: contract(
    {
      key,
      call,
      digest: Type.String(),
      tool: Type.String(),
      outcome: Type.String(),
      code: Type.Optional(Type.String()),
      admitted: Type.String(),
      exitCode: Type.Optional(Type.Integer()),
      durationMs: Type.Optional(Type.Integer()),
      backgroundMs: Type.Optional(Type.Integer()),
      waitedMs: Type.Integer(),
      outputBytes: Type.Integer(),
      taint: Type.Optional(
        Type.Object({
          code: Type.String(),
          evidence: Type.String(),
          suspected: Type.Optional(Type.String()),
        }),
      ),
      idleMs: Type.Integer(),
      ranIn: Type.Optional(Type.String()),
      unserved: Type.Optional(Type.Boolean()),
      onlyNew: Type.Optional(Type.Boolean()),
      isAnswered: Type.Boolean(),
      text,
      setup: Type.Optional(SetupEnd),
    },
    orNothing(
      Type.Object({
        first: Type.Boolean(),
        tainted: Type.Boolean(),
        call: StoredCall,
        repeated: Repeated,
      }),
    ),
  ),
  'withdraw-call': contract(
    { key, call, counted: Type.Boolean(), lookAgainAtMs: Type.Number() },
    Type.Boolean(),
  ),
  'unsent-call': contract({ key, call, sender: Type.String(), counted: Type.Boolean() }, Nothing),
  'overdue-calls': contract(
    { graceMs: Type.Integer(), lookAgainMs: Type.Integer(), limit: Type.Integer() },
    list(
      Type.Object({
        rollout: Rollout,
        call: StoredCall,
        lookAgainAtMs: Type.Number(),
        setup: Type.Boolean(),
      }),
    ),
  ),
  'lookup-call': contract(
    { key, call },
    orNothing(Type.Object({ call: StoredCall, setup: Type.Boolean(), repeated: Type.Optional(Repeated) })),
  ),
  'time-left': contract({ key, rolloutMs: Type.Number() }, orNothing(Type.Integer())),
  /** Replies raw two texts of each call, if they are asked for: its arguments, then its output. */
  'list-calls': contract({ key, withTexts: Type.Boolean() }, list(StoredCall)),
};
