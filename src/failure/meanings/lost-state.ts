import type { FailureCode } from '../codes.ts';
import type { Meaning } from './meaning.ts';

/** Why a rollout that had begun can never be scored. */
export const lostState = {
  sandbox_lost: {
    means: 'The sandbox is known to be gone, after commands had run in it.',
    evidence:
      '`cause`: one of [those below](#why-a-sandbox-was-lost). With it what the provider saw: `exitCode`, `signal`, `outOfMemoryKills`, `memoryLackedBy`, `lastWords`. Of the call that was under way, `call`, `sandbox` and `admitted`.',
    operator:
      'Look at the cause. `corral_sandboxes_lost_total` counts by cause and effect; one rollout in a thousand is a good day.',
  },
  outcome_unknown: {
    means:
      'A call was sent, and until its deadline nobody could be asked whether it ran. The sandbox is not known to be gone.',
    evidence:
      '`call`, `tries`, `admitted`, and `detail`: how the last connection failed. The event log has the same.',
    operator:
      'Look for a network that swallows packets between gateways and sandboxes, and for nodes so busy that sandboxd does not come to answer.',
  },
  dependency_failed: {
    means:
      'A tool said, by an exit code of its `infrastructure_exit`, that its own backend failed, or the database of a tool with `index` could not be read any more; what the policy saw is not what the task is about.',
    evidence: '`tool`, `exit_code`, and `said`: the beginning of its stderr.',
    operator:
      'Mend the backend. A database breaks by its disk, or by who changes a `source` under running sandboxes. Where the model’s own arguments can cause that exit code, the environment’s author must take it off `infrastructure_exit`: a policy could discard its bad rollouts with it.',
  },
} as const satisfies Partial<Record<FailureCode, Meaning>>;
