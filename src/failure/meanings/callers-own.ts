import type { FailureCode } from '../codes.ts';
import type { Meaning } from './meaning.ts';

/** A rollout, run or answer that is over. */
export const over = {
  rollout_expired: {
    means:
      'The rollout had no call within its idle time, which does not run while no gateway reaches Redis, or its hard life is over. Its sandbox was released. Without a score it is discarded.',
    evidence: '`closed_by`: `idle` or `hard_life`. `corral_rollouts_expired_total` counts them.',
    operator:
      'If many expire by `idle` while the trainer is running, its pauses are longer than the environment’s `limits.idle`. After a trainer’s crash this is how its sandboxes are released.',
  },
  rollout_closed: {
    means:
      'The rollout is over: finished, deleted, graded (on the RFT face by its score), or replaced by a higher attempt. While it is graded, new calls fail with this code, too.',
    evidence: '`closed_by`: `finished`, `deleted`, `scored` or `superseded`.',
    operator: 'Nothing: the trainer called after the end.',
  },
  run_closed: {
    means:
      'The run was stopped, or its lease lapsed. On the native face it lapses after five minutes without a request that renews it, a running call, or a grading. Time without a reachable gateway and processes that a command left behind do not count. A lapse does not end rollouts of the RFT face, and new rollouts may start.',
    evidence: '`closed_by`: `run_closed` or `run_lapsed`. `corral runs` shows the run’s state.',
    operator:
      'Nothing. A trainer that pauses for longer sends `POST /v1/runs/{run}/heartbeat`; a new job takes a new name after a stop.',
  },
  voided: {
    means:
      'A caller removed the rollout from its run before it had a score, because its task or its run was wrong. It was closed and is never scored.',
    evidence: '`reason`: the caller’s reason. The event log has the key.',
    operator: 'Nothing. `corral void` does this, for one rollout or for all rollouts of an item.',
  },
  answer_expired: {
    means:
      'A repeated call whose answer is no longer kept. The sandbox of an open rollout keeps the answers of its last 16 calls, and older ones as long as it has room for them. The call did run.',
    evidence: '`corral rollout` shows the call’s outcome.',
    operator: 'Nothing: the trainer repeats too late.',
  },
} as const satisfies Partial<Record<FailureCode, Meaning>>;

/** A request that cannot be carried out as it is. */
export const wrongRequest = {
  call_conflict: {
    means: 'Two different calls have the same `call_id`. The first one counts, the second did not run.',
    evidence: '`corral rollout` shows the first.',
    operator: 'Nothing: the trainer must not reuse a call id.',
  },
  score_conflict: {
    means:
      'The trainer sent a score for a rollout that has another one. The first one counts: a score never changes.',
    evidence: '`stored` and `brought`: both scores.',
    operator: 'Nothing: two parts of the trainer disagree, or two rollouts share an id.',
  },
  invalid_request: {
    means:
      'The request does not have the shape that its address expects, or its body is incomplete. For a dataset row that names its image: the environment or the operator does not allow this image. For a row that says what its task demands: it is not an amount with its unit.',
    evidence:
      'The message names the field. For an image, `image` is the row’s value, and for a demand `amount` is. For a file transfer, `errno` is the error of the path’s own user.',
    operator:
      'Nothing: the message says what to correct. Many incomplete bodies point to a proxy with a short idle timeout.',
  },
  unknown_environment: {
    means: 'No environment, or no version of one, has the name in the address.',
    evidence: 'The message lists the existing ones.',
    operator:
      'Compare the job’s addresses with `GET /v1/environments`. `environments` in `/readyz` shows a file that was removed or has a mistake. Versions are kept for 14 days.',
  },
  environment_mismatch: {
    means:
      'The rollout was opened with one environment and called with another; a rollout stays where it is.',
    evidence: 'The message names both.',
    operator: 'Nothing: all addresses of a job must name one environment.',
  },
  item_mismatch: {
    means:
      'The rollout was opened with one dataset row, and this request has the same rollout id and another row. It is refused because both rows would share one sandbox, and one score.',
    evidence:
      'Rows are compared by the fields that the environment reads, or by all fields if a command or a judge grades; and by `id` if both have one. A request without a row is not compared.',
    operator:
      'Nothing: the trainer must give each rollout an id of its own, in the next epoch, too. A counter that starts at 0 in each process is a common cause.',
  },
  unknown_call: {
    means: 'The rollout has no call with this id: it never arrived, or belongs to another rollout.',
    evidence: '`corral rollout` lists the rollout’s calls.',
    operator: 'Nothing: the trainer must send the call itself, with the same id.',
  },
  item_missing: {
    means:
      'The dataset row lacks a field that the environment’s `expose`, grader or image needs, or there is no row although rows say what their tasks demand. An announced burst (`prewarm`) lacks its rows.',
    evidence: '`field`: the missing field.',
    operator:
      'The trainer sends the whole row as `item`, or the environment’s author removes the field. `corral preflight --items` finds such rows before a job.',
  },
  requirements_unmet: {
    means:
      'The task demands something that this environment does not give: a working directory or folder that commands can write, a user, more memory, CPU, disk or shared memory than the operator allows or one machine has, a network, several services, a longer timeout, a passing health check, or a verifier that works here. It was refused before its first call, or after its own solution had failed its own verifier. It is never scored.',
    evidence:
      '`requirement`: its name; `wanted` and `given`: both values; `fix`: the line to change. If it was found in a sandbox, two fresh ones gave the same result.',
    operator:
      'The author of the task or the environment changes the line that `fix` names. `corral preflight ENVIRONMENT --task FOLDER` reports the same before a job.',
  },
  tool_not_configured: {
    means: 'The address, which is the job’s, names a tool that the environment does not have.',
    evidence: 'The message lists the environment’s tools.',
    operator: 'Compare the job with `GET /v1/environments/{name}/tools`.',
  },
  payload_too_large: {
    means:
      'The body is over 1 MB without what the model wrote (`arguments`, `sample`), over 64 MiB with it, or a file is over the gateway’s limit.',
    evidence: '`maxBytes`: the limit.',
    operator: 'For files, raise `CORRAL_MAX_FILE_BYTES`. Bodies of the trainers’ protocol are never larger.',
  },
  unauthorized: {
    means: 'The key is missing, unknown or expired, or lacks the scope.',
    evidence: '`key` and `scope`, if the key is known. The message never says which key would be right.',
    operator:
      'Create a key, or give it the scope: `corral keys`. On the RFT face it is a 503, so that a wrong key stops the job and teaches the policy nothing.',
  },
} as const satisfies Partial<Record<FailureCode, Meaning>>;
