import { type Static, type TOptional, type TString, Type } from 'typebox';
import { type FieldName, replyFields } from '#src/protocol/rollout/fields.ts';
import { orNothing } from './contract.ts';

type Texts = { [Name in Exclude<FieldName, 'discarded'>]: TOptional<TString> };

const text = Type.Optional(Type.String());

/** Why a rollout can never be scored. `evidence`: JSON. */
const Discarded = Type.Object({
  code: Type.String(),
  cause: text,
  suspected: text,
  evidence: text,
  atMs: Type.Optional(Type.Number()),
});

/** `Record.read` of lib/record.lua: each field as the hash keeps it, and what lib/verdict.lua makes of those that decide. */
export const Rollout = Type.Object({
  ...(Object.fromEntries(replyFields.map((name) => [name, text])) as Texts),
  discarded: Type.Optional(Discarded),
  /** Why it may not go on. */
  barred: text,
  key: Type.String(),
  inFlight: Type.Integer(),
});
export type Rollout = Static<typeof Rollout>;

/** `Call.reply` of lib/call.lua. `stored`: the first twelve places of the array that Redis keeps; none is missing, so none is null. */
export const StoredCall = Type.Object({
  call: Type.String(),
  sandbox: Type.Optional(Type.String()),
  boot: Type.Optional(Type.String()),
  stored: Type.Tuple([
    Type.String({ title: 'tool' }),
    Type.String({ title: 'digest' }),
    Type.Number({ title: 'startedAtMs' }),
    Type.Integer({ title: 'dispatched' }),
    Type.String({ title: 'admitted' }),
    orNothing(Type.String({ title: 'outcome' })),
    orNothing(Type.String({ title: 'code' })),
    orNothing(Type.Number({ title: 'exitCode' })),
    orNothing(Type.Number({ title: 'durationMs' })),
    Type.Number({ title: 'waitedMs' }),
    Type.Number({ title: 'outputBytes' }),
    Type.Integer({ title: 'answered' }),
  ]),
});
export type StoredCall = Static<typeof StoredCall>;

/** `Presence.claimReply` of lib/presence.lua, and what claims that are refused before it are told. */
export const Claimed = Type.Union([
  Type.Object({ kind: Type.Literal('held'), rollout: Rollout }),
  Type.Object({
    kind: Type.Literal('waiting'),
    ahead: Type.Integer(),
    rollout: Rollout,
    failing: Type.Optional(
      Type.Object({
        code: Type.String(),
        message: Type.String(),
        alike: Type.Integer(),
        beganMs: Type.Number(),
      }),
    ),
  }),
  Type.Object({ kind: Type.Literal('refused'), code: Type.String(), rollout: Type.Optional(Rollout) }),
]);
export type Claimed = Static<typeof Claimed>;
