import { type Static, Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { bootId, sandboxId } from '#src/model/ids.ts';
import { type RolloutKey, sandboxAddress } from '#src/model/rollout.ts';
import type { Grant, WakeUp } from '#src/ports/fleet/wake-ups.ts';

const rollout = Type.String();

const Granted = Type.Object({
  kind: Type.Literal('granted'),
  rollout,
  sandbox: Type.String(),
  boot: Type.String(),
  address: Type.String(),
  launchType: Type.Union([Type.Literal('warm'), Type.Literal('cold')]),
  generation: Type.Integer(),
  claimedAtMs: Type.Number(),
});

/** A message of lib/wakeup.lua. */
const Message = Type.Union([
  Granted,
  ...(['released', 'verdict', 'ended', 'restored'] as const).map((kind) =>
    Type.Object({ kind: Type.Literal(kind), rollout }),
  ),
]);

const message = Compile(Message);

/** Null for a message that is not one of this release. */
export function wakeUpOf(text: string): { readonly key: RolloutKey; readonly wakeUp: WakeUp } | null {
  const value = jsonOrNull(text);
  if (!message.Check(value)) return null;
  const key = value.rollout as RolloutKey;
  return {
    key,
    wakeUp: value.kind === 'granted' ? { kind: 'granted', grant: grantOf(value) } : { kind: value.kind },
  };
}

function grantOf({
  sandbox,
  boot,
  address,
  launchType,
  generation,
  claimedAtMs,
}: Static<typeof Granted>): Grant {
  const epoch = { sandbox: sandboxId(sandbox), boot: bootId(boot) };
  return { epoch, address: sandboxAddress(address), launchType, generation, claimedAtMs };
}

function jsonOrNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
