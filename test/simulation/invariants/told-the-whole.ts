import type { TellsRollout } from '../sandbox/truth.ts';
import { askedToken } from '../sandbox/command.ts';
import type { World } from '../world.ts';
import type { Invariant } from './inspector.ts';

type ToldCall = {
  readonly id: string;
  readonly arguments: object | null;
  readonly output: string | null;
  readonly truncated: boolean;
};

/** Nobody is graded by half a story: what ran before the grader began is in it once, with its own words and its own output. */
export const toldTheWhole: Readonly<Record<string, Invariant>> = {
  'a grader is told all that its rollout ran, and each call’s own words': (world) => {
    for (const telling of world.truth.tellings) {
      const wrong = wrongIn(world, telling);
      if (wrong !== null) return `${telling.owner}: ${wrong}`;
    }
    return null;
  },
};

function wrongIn({ truth }: World, { owner, sandbox, boot, rollout, atMs }: TellsRollout): string | null {
  const { calls } = JSON.parse(rollout) as { readonly calls: readonly ToldCall[] };
  const ids = new Set(calls.map(({ id }) => id));
  if (ids.size !== calls.length) return 'a call was told twice';
  const ran = truth
    .executionsOf(owner)
    .filter((one) => one.sandbox === sandbox && one.boot === boot && one.startedMs <= atMs)
    .filter(({ call }) => !call.includes(' '));
  for (const { call, token } of ran) {
    const told = calls.find(({ id }) => id === call);
    if (told === undefined) return `${call} ran, and was not told`;
    if (told.truncated) return `${call} was cut, and is short`;
    if (!JSON.stringify(told.arguments).includes(askedToken(token)))
      return `${call} was told with other arguments`;
    if (!(told.output ?? '').includes(token)) return `${call} was told with another output`;
  }
  return null;
}
