import type { SandboxId } from '#src/model/ids.ts';
import type { Clock } from '#src/ports/clock.ts';
import type { Log } from '#src/ports/log.ts';

/** One sandbox alone may be the liar: a policy that is root in there can answer in the place of its sandboxd. */
const enough = 3;
/** Without a refusal for so long it is tried again: who takes no requests hears of nobody who would take its key. */
const lastsMs = 60_000;

/** Where the two keys of a fleet come from, in the words of whoever fixes it. */
const sentence =
  'sandboxes refuse the token that this gateway makes from its fleet key (CORRAL_FLEET_KEY_FILE): it must be the controllers’ own, or one of its two during a rotation';

export type KeyDoubt = {
  /** What a sandbox answered. */
  readonly answered: (sandbox: SandboxId, status: number) => void;
  /** Null while this gateway's key is as good as can be told; else what is wrong. */
  readonly reason: () => string | null;
  /** Answers with 401 since the start. */
  readonly refusals: () => number;
};

/** Whether this gateway's own fleet key is wrong: several sandboxes have refused it, and none has taken it since. */
export function createKeyDoubt(log: Log, clock: Clock): KeyDoubt {
  const refusedBy = new Set<SandboxId>();
  let refusals = 0;
  let lastAtMs = 0;
  const isWrong = () => refusedBy.size >= enough;
  return {
    answered: (sandbox, status) => {
      if (status !== 401) return refusedBy.clear();
      refusals += 1;
      lastAtMs = clock.monotonicMs();
      if (isWrong()) return;
      refusedBy.add(sandbox);
      if (isWrong()) log.error(sentence, { sandboxes: [...refusedBy].join(' ') });
    },
    reason: () => (isWrong() && clock.monotonicMs() - lastAtMs < lastsMs ? sentence : null),
    refusals: () => refusals,
  };
}
