import { type Static, Type } from 'typebox';
import { nullable } from './parts.ts';
import { RequiresBody } from './requirements.ts';
import { RolloutLine, VoidText } from './rollouts.ts';

const Counts = Type.Record(Type.String(), Type.Number());

const Cursor = Type.Optional(Type.String({ pattern: '^\\d{1,16}$' }));

export const RolloutsQuery = Type.Object(
  {
    verdict: Type.Optional(Type.Union([Type.Literal('scorable'), Type.Literal('discard')])),
    code: Type.Optional(Type.String()),
    item: Type.Optional(Type.String({ description: 'only of this item, as `groups` of the run name it' })),
    cursor: Cursor,
  },
  { additionalProperties: false },
);

export const RolloutsAnswer = Type.Object(
  {
    rollouts: Type.Array(RolloutLine),
    cursor: nullable(Type.String()),
  },
  { title: 'RolloutPage' },
);

/** The rollouts of one item in one wave; reward figures are over what was scored, never over discards. */
const GroupLine = Type.Object(
  {
    item: Type.String(),
    wave: Type.Number(),
    n: Type.Number(),
    scored: Type.Number(),
    discarded: Type.Number(),
    /** Scores that were left out of the figures. A gateway of the previous version does not say. */
    voided: Type.Optional(Type.Number()),
    mean: nullable(Type.Number()),
    best: nullable(Type.Number()),
    spread: nullable(Type.Number()),
  },
  { title: 'Group' },
);

/**
 * The mean reward of groups, and the number of their discards by blame. `reward_if_zeroed` is the mean with each infrastructure
 * discard as a 0; only a key of scope `admin` gets it, because it is no reward. A gateway of the previous version has none of them.
 */
const rewardFields = {
  mean: Type.Optional(nullable(Type.Number())),
  discards: Type.Optional(Counts),
  reward_if_zeroed: Type.Optional(
    nullable(Type.Number({ description: 'for keys of scope admin; never a reward to train on' })),
  ),
};

/**
 * The groups of one wave together. `signal_lost`: the share of its rollouts that have no advantage because of a discard,
 * their own or one that left their group fewer than two.
 */
const WaveLine = Type.Object(
  {
    wave: Type.Number(),
    groups: Type.Number(),
    groups_hurt: Type.Number(),
    rollouts: Type.Number(),
    rollouts_lost: Type.Number(),
    signal_lost: Type.Number(),
    ...rewardFields,
  },
  { title: 'Wave' },
);

export const RunAnswer = Type.Object(
  {
    run: Type.String(),
    state: Type.Union([Type.Literal('open'), Type.Literal('closed')]),
    rollouts: Type.Number(),
    open: Type.Number(),
    scored: Type.Number(),
    discarded: Type.Number(),
    voided: Type.Optional(Type.Number()),
    calls: Counts,
    blame: Counts,
    codes: Counts,
    ...rewardFields,
    waves: Type.Array(WaveLine),
    groups: Type.Array(GroupLine),
    /** Groups of its oldest items, for which there is no room. A gateway of the previous version leaves out none. */
    groups_left_out: Type.Optional(Type.Number()),
    /** Of sandboxes that its rollouts held, of those that are over, by what became of them. */
    sandbox_seconds: Type.Object({
      scored: Type.Number(),
      discarded: Type.Number(),
      ungraded: Type.Number(),
    }),
    /** Of all the time that sandboxes of the fleet have run, the share without a rollout; null: none has run yet. */
    fleet_idle_share: Type.Union([Type.Number(), Type.Null()]),
  },
  { title: 'Run' },
);
export type RunAnswer = Static<typeof RunAnswer>;

export const RunsAnswer = Type.Object({ runs: Type.Array(Type.String()) }, { title: 'RunList' });
export const RunHeartbeatAnswer = Type.Object(
  { run: Type.String(), state: Type.Literal('open') },
  { title: 'RunRenewed' },
);

/** `left`: rollouts still to be released; ask again until it is 0. */
export const RunCloseAnswer = Type.Object(
  { run: Type.String(), left: Type.Number() },
  { title: 'RunClosing' },
);

/** Voids the rollouts that a run has of an item; `item` as `groups` of the run name it. */
export const VoidItemBody = Type.Object(
  { item: Type.String({ minLength: 1, maxLength: 200 }), reason: VoidText, cursor: Cursor },
  { title: 'VoidItemRequest', additionalProperties: false },
);

/** Of one page: rollouts that were discarded, scores that were left out, and what was not changed. Ask again with `cursor` until it is null. */
export const VoidItemAnswer = Type.Object(
  {
    run: Type.String(),
    item: Type.String(),
    discarded: Type.Number(),
    scored: Type.Number(),
    unchanged: Type.Number(),
    cursor: nullable(Type.String()),
  },
  { title: 'VoidItemResult' },
);

/** As many rollouts as the whole fleet's waiting line may hold. */
const mostRollouts = 10_000;
/** Distinct rows of one step; a step is some hundred rollouts of some dozen rows. */
const mostItems = 1_000;

const Count = Type.Integer({ minimum: 1, maximum: mostRollouts });

const PrewarmItem = Type.Object(
  { item: nullable(Type.Record(Type.String(), Type.Unknown())), count: Count },
  { additionalProperties: false },
);

/** Announces a burst: either `count`, or `items` whose counts are added. */
export const PrewarmBody = Type.Object(
  {
    environment: Type.String({ minLength: 1, description: 'name or name@version' }),
    run: Type.Optional(Type.String()),
    count: Type.Optional(Count),
    items: Type.Optional(Type.Array(PrewarmItem, { minItems: 1, maxItems: mostItems })),
    requires: Type.Optional(RequiresBody),
    needed_at: Type.Optional(
      Type.String({ maxLength: 40, description: 'ISO 8601, at most an hour ahead; default: now' }),
    ),
  },
  { title: 'Prewarm', additionalProperties: false },
);
export type PrewarmBody = Static<typeof PrewarmBody>;

/** `count` sandboxes of `templates` are kept ready until `until`, ISO 8601; several where rows name their images. */
export const PrewarmAnswer = Type.Object(
  {
    environment: Type.String(),
    version: Type.String(),
    templates: Type.Array(Type.String()),
    count: Type.Number(),
    until: Type.String(),
  },
  { title: 'Prewarmed' },
);
