import type { FailureCode } from '../codes.ts';
import type { Meaning } from './meaning.ts';

/** A rollout, run or answer that is over. */
export const over = {
  rollout_expired: {
    means:
      'Nobody called the rollout within its idle time (which does not run while no gateway reaches Redis), or its hard life is over. Its sandbox was released, and without a score it is discarded.',
    evidence: '`closed_by`: `idle` or `hard_life`. `corral_rollouts_expired_total` counts them.',
    operator:
      'Many by `idle` while the trainer lives: its pauses are longer than the environment’s `limits.idle`. When a trainer died, this is how its sandboxes come back.',
  },
  rollout_closed: {
    means:
      'The rollout is over: finished, deleted, graded (on the RFT face by its score), or replaced by a higher attempt. While it is being graded new calls get the same answer.',
    evidence: '`closed_by`: `finished`, `deleted`, `scored` or `superseded`.',
    operator: 'Nothing here: the trainer called after the end.',
  },
  run_closed: {
    means:
      'The run was stopped, or its lease lapsed. The lease of a run of the native face lapses after five minutes in which a gateway could be reached, but no request renewed it and nothing ran in the run: no call before its deadline and no grading. Processes that a command left behind do not count. A lapse does not end rollouts of the RFT face, and new rollouts may begin.',
    evidence: '`closed_by`: `run_closed` or `run_lapsed`. `corral runs` shows the run’s state.',
    operator:
      'Nothing here. A trainer that pauses for longer sends `POST /v1/runs/{run}/heartbeat`; a new job takes a new name after a stop.',
  },
  voided: {
    means:
      'A caller took the rollout out of its run before it had a score, because its task or its run was wrong. It was closed and is never scored.',
    evidence: '`reason`: what the caller gave. The event log has the key.',
    operator: 'Nothing here. `corral void` does it, for one rollout or for all rollouts of an item.',
  },
  answer_expired: {
    means:
      'A repeat of a call whose answer is no longer kept: the last 16 calls of a rollout are, until 40 minutes after its end. It did run.',
    evidence: '`corral rollout` shows the call’s outcome.',
    operator: 'Nothing here: the trainer repeats too late.',
  },
} as const satisfies Partial<Record<FailureCode, Meaning>>;

/** A request that cannot be carried out as it is. */
export const wrongRequest = {
  call_conflict: {
    means: 'One `call_id`, two different calls. The first stands, the second did not run.',
    evidence: '`corral rollout` shows the first.',
    operator: 'Nothing here: the trainer must not use a call id again.',
  },
  score_conflict: {
    means:
      'The trainer brought a score for a rollout that has another one. The first stands: a score is never changed.',
    evidence: '`stored` and `brought`.',
    operator: 'Nothing here: two parts of the trainer disagree, or one rollout id stands for two rollouts.',
  },
  invalid_request: {
    means:
      'The request has not the shape that its address takes, or its body did not come whole. Of a dataset row that names its image: one that the environment or the operator does not allow.',
    evidence:
      'The message names the field. Of an image, `image` is what the row says. Of a file transfer, `errno` is what the path’s own user saw.',
    operator:
      'Nothing here: the message says what to correct. Bodies that break off in numbers point to a proxy with a short idle timeout.',
  },
  unknown_environment: {
    means: 'No environment, or no version of one, has the name in the address.',
    evidence: 'The message lists those that exist.',
    operator:
      'Compare the job’s addresses with `GET /v1/environments`. Was its file removed, or not taken because of a mistake? `environments` in `/readyz` says so. Versions are kept for 14 days.',
  },
  environment_mismatch: {
    means:
      'The rollout was opened with one environment and called with another; a rollout stays where it is.',
    evidence: 'The message names both.',
    operator: 'Nothing here: all addresses of a job must name one environment.',
  },
  item_mismatch: {
    means:
      'The rollout was opened with one dataset row, and this request has the same rollout id and another row. It is refused because both rows would share one sandbox, and one score.',
    evidence:
      'Rows are compared by the fields that the environment reads; where a command or a judge grades, by all fields; and by `id` if both have one. A request without a row is not compared.',
    operator:
      'Nothing here: the trainer gives each rollout an id of its own, also in the next epoch. A loop that counts from 0 in each process is a common cause.',
  },
  unknown_call: {
    means: 'The rollout has no call with this id: it never arrived, or not in this rollout.',
    evidence: '`corral rollout` lists the calls that did.',
    operator: 'Nothing here: the trainer sends the call itself, with the same id.',
  },
  item_missing: {
    means:
      'The dataset row lacks a field that the environment’s `expose`, grader or image needs. An announced burst (`prewarm`) lacks its rows.',
    evidence: '`field`: which one.',
    operator:
      'The trainer sends the whole row as `item`, or the environment’s author takes the field off. `corral preflight --items` finds such rows before a job does.',
  },
  requirements_unmet: {
    means:
      'The task demands something that this environment does not give: a working directory or folder that commands can write, a user, memory, CPU, disk, a network, several services, a longer timeout, a passing health check, or a verifier that works here. It was refused before its first call, or after its own solution had failed its own verifier. It is never scored.',
    evidence:
      '`requirement`: which one; `wanted` and `given`: both sides; `fix`: the line to change. In a sandbox, two fresh ones showed the same.',
    operator:
      'The author of the task or the environment changes the line that `fix` names. `corral preflight ENVIRONMENT --task FOLDER` says the same before a job does.',
  },
  tool_not_configured: {
    means: 'The address, which is the job’s, names a tool that the environment does not have.',
    evidence: 'The message lists those that it has.',
    operator: 'Compare the job with `GET /v1/environments/{name}/tools`.',
  },
  payload_too_large: {
    means:
      'The body is over 1 MB without what the model wrote (`arguments`, `sample`), over 64 MiB with it, or a file is over the gateway’s limit.',
    evidence: '`maxBytes`: what is taken.',
    operator: 'For files, raise `CORRAL_MAX_FILE_BYTES`; bodies are never larger in the trainers’ protocol.',
  },
  unauthorized: {
    means: 'No key, a key that nobody knows, one that has expired, or one without the scope.',
    evidence: '`key` and `scope`, where the key is known. The message never says what would be right.',
    operator:
      'Create a key, or give it the scope: `corral keys`. On the RFT face it is a 503, so that a wrong key stops the job and teaches the policy nothing.',
  },
} as const satisfies Partial<Record<FailureCode, Meaning>>;
