import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';

/**
 * What a sandbox is told of its rollout at bind beside the owner, and tells again when Redis has forgotten it: enough
 * to write the rollout's record. The dataset row is not in it, because it holds the answers that the policy must not find.
 */
const RolloutLabel = Type.Object({
  face: Type.Union([Type.Literal('rft'), Type.Literal('native'), Type.Literal('e2b')]),
  environment: Type.String(),
  version: Type.String(),
  template: Type.String(),
  itemKey: Type.String(),
  wave: Type.Integer({ minimum: 1 }),
  /** Of the grant that was bound: of two sandboxes of a rollout, the higher one is newer. */
  generation: Type.Integer({ minimum: 1 }),
  idleMs: Type.Integer({ minimum: 0 }),
  hardLifeMs: Type.Integer({ minimum: 0 }),
  /** A call brought a dataset row: where Redis has forgotten it, nothing that needs it may go on as if there was none. */
  hadRow: Type.Optional(Type.Boolean()),
  /** The trainer's own tags; left out where it gave none, and by gateways of before there were any. */
  tags: Type.Optional(
    Type.Object({ step: Type.Union([Type.Integer(), Type.Null()]), labels: Type.Array(Type.String()) }),
  ),
});
export type RolloutLabel = Readonly<Static<typeof RolloutLabel>>;

export function labelText(label: RolloutLabel): string {
  return JSON.stringify(label);
}

/** Null where the text is no label: an older sandbox, or one that does not tell the truth. */
export function parseLabel(text: string | null): RolloutLabel | null {
  try {
    const value: unknown = JSON.parse(text ?? '');
    return Value.Check(RolloutLabel, value) ? value : null;
  } catch {
    return null;
  }
}
