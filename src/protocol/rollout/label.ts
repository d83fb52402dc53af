import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import { textOf, type Told, toldFields, toldSchemas } from './fields.ts';

/**
 * What a sandbox is told of its rollout at bind beside the owner, and tells again when Redis has forgotten it: enough
 * to write the rollout's record. The dataset row is not in it, because it holds the answers that the policy must not find.
 */
const RolloutLabel = Type.Object(toldSchemas);
export type RolloutLabel = Readonly<Static<typeof RolloutLabel>>;
const HealedLabel = Type.Object({ healed: Type.Unknown() });

/**
 * Without what the rollout has none of. Where set-up is replayed the label stands one level deeper: the previous release would take
 * such a sandbox for whole after half a replay, and finds no label there.
 */
export function labelText(told: Told): string {
  const has = toldFields.filter((name) => textOf(name, told[name]) !== '');
  const label = Object.fromEntries(has.map((name) => [name, told[name]]));
  return JSON.stringify(told.heals > 0 ? { healed: label } : label);
}

/** Null where the text is no label: an older sandbox, or one that does not tell the truth. */
export function parseLabel(text: string | null): RolloutLabel | null {
  try {
    const value: unknown = JSON.parse(text ?? '');
    const label = Value.Check(HealedLabel, value) ? value.healed : value;
    return Value.Check(RolloutLabel, label) ? label : null;
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
