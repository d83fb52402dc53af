import { type Static, Type } from 'typebox';
import { nullable } from './parts.ts';

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
    needed_at: Type.Optional(
      Type.String({ maxLength: 40, description: 'ISO 8601, at most an hour ahead; default: now' }),
    ),
  },
  { additionalProperties: false },
);
export type PrewarmBody = Static<typeof PrewarmBody>;

/** `count` sandboxes of `templates` are kept ready until `until`, ISO 8601; several where rows name their images. */
export const PrewarmAnswer = Type.Object({
  environment: Type.String(),
  version: Type.String(),
  templates: Type.Array(Type.String()),
  count: Type.Number(),
  until: Type.String(),
});
