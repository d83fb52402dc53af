import type { Post, Posted } from '#src/adapters/judge-http/ask-once.ts';
import type { Chance } from '../engine/chance.ts';
import type { Faults, Hurt } from '../engine/faults.ts';
import type { Scheduler } from '../engine/scheduler.ts';
import { flattery, harmless } from '../environment.ts';

export type JudgeWorld = {
  readonly scheduler: Scheduler;
  readonly faults: Faults;
  readonly chance: Chance;
  /** Rollouts of which it has given no number, for their answer's own sake or not. */
  readonly refused: Set<string>;
  /** Rollouts whose every request meets a judge that is wrongly set up, whatever the answer. */
  readonly misled: Set<string>;
  /** Rollouts of policies that persuaded it of a wrong answer. */
  readonly flattered: Set<string>;
  /** Canaries that it scored wrongly, or gave no number. */
  readonly wrongCanaries: Set<string>;
  /** Policies play it: they flatter it, slow it down, or talk it into nonsense. */
  readonly isPlayed: boolean;
};

/** What the judge thinks of an answer: two digits, so that a half is another number. */
export const judgedScore = (right: boolean) => (right ? 0.75 : 0.25);

/** A judge elsewhere that is at times busy, broken, silent, or gone in the middle of its answer. */
export function judgePost(world: JudgeWorld): Post {
  const { scheduler, faults, chance, refused, misled } = world;
  // Drawn for each rollout apart, so that the rest of a seed's story does not depend on it.
  const strikes = (name: string, says: string, rollout: string, share: number) => {
    if (faults.over || faults.calm || !chance.fork(`${name} ${rollout}`).happens(share)) return false;
    faults.note(name, says, { part: rollout });
    return true;
  };
  const isMisled = (rollout: string) => {
    if (strikes('judge_misled', 'the judge refuses every key from now on', rollout, 0.1)) misled.add(rollout);
    return misled.has(rollout);
  };
  const refuses = (rollout: string) => {
    const isRefused = strikes('judge_refuses', 'the judge refuses this answer', rollout, 0.3);
    if (isRefused) refused.add(rollout);
    return isRefused;
  };
  return ({ body }, signal) =>
    new Promise<Posted>((resolve, reject) => {
      const { rollout, said, right, isHarmless } = asked(body.join(''));
      const isCanary = rollout.startsWith('canary-');
      // All grades wait for a canary.
      const hurt: Hurt = isCanary ? 'anybody' : { part: rollout };
      const play = isCanary || isHarmless || !world.isPlayed ? null : playOf(world, rollout);
      const gaveUp = () => reject(new Error('given up'));
      signal.addEventListener('abort', gaveUp, { once: true });
      if (faults.strikes('judge_silent', hurt)) return;
      scheduler.after(
        play === 'slow' ? 3_900 : chance.between(20, 900),
        'judge',
        `answers for ${rollout}`,
        () => {
          signal.removeEventListener('abort', gaveUp);
          if (faults.strikes('judge_busy', hurt))
            return resolve({ status: 429, text: 'later', retryAfter: chance.pick(['', '1', '60']) });
          if (faults.strikes('judge_fails', hurt))
            return resolve({ status: 500, text: 'no', retryAfter: undefined });
          if (play === 'nonsense') {
            refused.add(rollout);
            return resolve({ status: 200, text: 'as you wish', retryAfter: undefined });
          }
          if (!isCanary && isMisled(rollout))
            return resolve({ status: 400, text: 'no', retryAfter: undefined });
          if (!isCanary && !isHarmless && refuses(rollout)) {
            const status = chance.fork(`status ${rollout}`).pick([400, 403, 413, 422]);
            return resolve({ status, text: 'not this', retryAfter: undefined });
          }
          if (play === 'flatters') world.flattered.add(rollout);
          const isTurned = said === flattery && believes(world);
          if (isTurned) noteWrong(world, rollout);
          const text = JSON.stringify({ score: judgedScore(right || isTurned || play === 'flatters') });
          const isHalf = faults.strikes('judge_half', hurt);
          if (isHalf && isCanary) world.wrongCanaries.add(rollout);
          // Half of a number to the last try is taken for the answer's doing: a model as judge can be talked into it.
          if (isHalf && !isCanary && !isHarmless) refused.add(rollout);
          const length = isHalf ? brokenOffAt(text, chance) : text.length;
          resolve({ status: 200, text: text.slice(0, length), retryAfter: undefined });
        },
      );
    });
}

/** What this policy does to its judge; the same at every try, or a repeat of its grade would be another story. */
const playOf = ({ chance }: JudgeWorld, rollout: string) =>
  chance.fork(`play ${rollout}`).pick(['flatters', 'slow', 'nonsense', 'honest'] as const);

/** In a world with troubles the judge itself may have gone bad: it believes what praises itself. */
const believes = ({ faults, isPlayed, chance }: JudgeWorld): boolean =>
  !isPlayed && !faults.over && !faults.calm && chance.happens(0.3);

function noteWrong({ faults, wrongCanaries }: JudgeWorld, canary: string): void {
  wrongCanaries.add(canary);
  faults.note('judge turned', 'the judge believes what praises itself', 'anybody', canary);
}

/** Mostly within the number: what is left of one looks like another. */
function brokenOffAt(text: string, chance: Chance): number {
  const within = [text.indexOf(':') + 2, text.length - 2] as const;
  return chance.happens(0.7) ? chance.between(...within) : chance.between(0, text.length - 1);
}

type Asked = {
  readonly rollout: string;
  readonly said: string;
  readonly right: boolean;
  readonly isHarmless: boolean;
};

function asked(body: string): Asked {
  const { trace_id, sample } = JSON.parse(body) as {
    readonly trace_id: string;
    readonly sample: { readonly output_text: string };
  };
  const { output_text } = sample;
  return {
    rollout: trace_id,
    said: output_text,
    right: output_text === 'yes',
    isHarmless: output_text === harmless,
  };
}
