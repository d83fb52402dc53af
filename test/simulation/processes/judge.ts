import type { Post, Posted } from '../../../src/adapters/judge-http/post.ts';
import type { Json } from '../../../src/model/grader.ts';
import type { Chance } from '../engine/chance.ts';
import type { Faults } from '../engine/faults.ts';
import type { Scheduler } from '../engine/scheduler.ts';

export type JudgeWorld = {
  readonly scheduler: Scheduler;
  readonly faults: Faults;
  readonly chance: Chance;
};

/** What the judge thinks of an answer: two digits, so that a half is another number. */
export const judgedScore = (right: boolean) => (right ? 0.75 : 0.25);

/** A judge elsewhere that is at times busy, broken, silent, or gone in the middle of its answer. */
export function judgePost({ scheduler, faults, chance }: JudgeWorld): Post {
  return ({ body }, signal) =>
    new Promise<Posted>((resolve, reject) => {
      const { rollout, right } = asked(body);
      const hurt = { part: rollout };
      const gaveUp = () => reject(new Error('given up'));
      signal.addEventListener('abort', gaveUp, { once: true });
      if (faults.strikes('judge_silent', hurt)) return;
      scheduler.after(chance.between(20, 900), 'judge', `answers for ${rollout}`, () => {
        signal.removeEventListener('abort', gaveUp);
        if (faults.strikes('judge_busy', hurt))
          return resolve({ status: 429, text: 'later', retryAfter: chance.pick(['', '1', '60']) });
        if (faults.strikes('judge_fails', hurt))
          return resolve({ status: 500, text: 'no', retryAfter: undefined });
        const text = JSON.stringify({ score: judgedScore(right) });
        const isHalf = faults.strikes('judge_half', hurt);
        const length = isHalf ? chance.between(0, text.length - 1) : text.length;
        resolve({ status: 200, text: text.slice(0, length), retryAfter: undefined });
      });
    });
}

type Asked = { readonly rollout: string; readonly right: boolean };

function asked(body: Json): Asked {
  const { trace_id, sample } = body as {
    readonly trace_id: string;
    readonly sample: { readonly output_text: string };
  };
  return { rollout: trace_id, right: sample.output_text === 'yes' };
}
