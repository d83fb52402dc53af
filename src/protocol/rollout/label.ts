import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import { textOf, type Told, toldFields, toldSchemas } from './fields.ts';

/**
 * What a sandbox is told of its rollout at bind beside the owner, and tells again when Redis has forgotten it: enough
 * to write the rollout's record. The dataset row is not in it, because it holds the answers that the policy must not find.
 */
const RolloutLabel = Type.Object(toldSchemas);
export type RolloutLabel = Readonly<Static<typeof RolloutLabel>>;

/** Without what the rollout has none of. */
export function labelText(told: Told): string {
  const has = toldFields.filter((name) => textOf(name, told[name]) !== '');
  return JSON.stringify(Object.fromEntries(has.map((name) => [name, told[name]])));
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

/** Fields and their texts, alternating, as a rollout's hash keeps what its label tells. */
export function keptOfLabel(label: RolloutLabel): readonly string[] {
  return toldFields.flatMap((name) => {
    const text = textOf(name, label[name]);
    return text === '' ? [] : [name, text];
  });
}
