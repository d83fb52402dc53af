import type { FailureCode } from '../codes.ts';
import type { Meaning } from './meaning.ts';

/** Why there is no answer yet, or no score. */
export const unfinished = {
  still_running: {
    means:
      'The request’s time is up and the command or grader still works. Nobody’s failure, and not counted as one: the repeat attaches to the same work.',
    evidence: '`admitted: yes`.',
    operator:
      'Nothing. Where a platform’s retries are used up by it, the environment’s author lowers the tool’s `timeout`.',
  },
} as const satisfies Partial<Record<FailureCode, Meaning>>;

export const grading = {
  grader_failed: {
    means:
      'Our grader gave no finite number: it could not start, ended in a way that its environment discards, wrote nonsense, or its judge did not answer. Three failed turns, and the rollout is discarded.',
    evidence:
      'By the grader’s kind: `score_file`, `errno`, or `judge` with `tries` and `reason`. `suspected`: `command` where the policy may have broken it, `answer` where a judge may have failed of its answer.',
    operator:
      'Look at the grader with the environment’s author: `corral rollout`, then `corral preflight`. A rising share of `suspected: command` is a policy that learns to break its grader; give that ending a score in place of `discard`.',
  },
  rollout_unknown: {
    means:
      'A rollout that nobody here knows, and whose calls nobody can vouch for; or a grade that names calls which never reached us. Such a rollout is not scored.',
    evidence:
      '`calls_named`: calls that the platform counts. `calls_unseen` and `first_unseen`: those that never came.',
    operator:
      'After a Redis that lost its data it is expected, once. Otherwise requests are lost between the platform and the gateways: look at the proxies there. On the native face mostly a wrong id or run.',
  },
} as const satisfies Partial<Record<FailureCode, Meaning>>;
