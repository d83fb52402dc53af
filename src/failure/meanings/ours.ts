import type { FailureCode } from '../codes.ts';
import type { Meaning } from './meaning.ts';

/*
 * What the failures mean that are ours, in the order of a rollout's life: none of them says anything of the model. `rows_full` is
 * the caller's and stands with the fleet's, because it passes by itself as theirs do.
 */

/** Why a rollout has no sandbox, or cannot reach it: nothing ran. */
export const noSandbox = {
  capacity_timeout: {
    means:
      'The rollout stood in the waiting line until its request had no time left, and no sandbox became free.',
    evidence:
      '`ahead`: how many rollouts stood before it. In `corral_fleet_pool`, `waiting` is above zero while `held` is at the pool’s maximum, or while `launching` does not turn into `ready`.',
    operator:
      'Held at the maximum: raise the environment’s `pool.max`, or add machines. Launches that lag behind: raise `CORRAL_START_BUDGET` or `pool.min_ready`, or let the trainer announce its bursts with `POST /v1/prewarm`.',
  },
  line_full: {
    means:
      'The waiting line is at its bound: 2,000 rollouts of one run, or 10,000 of the fleet. Of a `prewarm`: too many runs announce bursts of this template.',
    evidence: '`corral_fleet_pool` with `state="waiting"` shows the line.',
    operator:
      'Add capacity, or let the trainer open fewer rollouts at once. One run at its bound keeps nobody else out.',
  },
  image_unavailable: {
    means: 'The provider cannot get the template’s image: no such reference, or the registry refused it.',
    evidence:
      'The message has the provider’s own words; the controller’s log line `launch failed` has the rest.',
    operator:
      'Check reference and pull secret with the environment’s author. Ten failed starts in a row stop launches of the template (`corral_fleet_breaker_open`); a probe every 30 s ends that by itself.',
  },
  unschedulable: {
    means:
      'No machine has room for what the template requests, and the grace given to an autoscaler is over; or the quota of the sandboxes’ namespace was spent for the template’s whole start timeout. On one machine: its memory was promised to other sandboxes, or in use, for so long; or its data was still being built.',
    evidence:
      'The message has the scheduler’s or the quota’s own words; on one machine, what is promised and what there is.',
    operator:
      'Add machines or quota, or lower the environment’s `cpu`, `memory` or `disk` request. On one machine: lower the memory limit or `pool.max`, or raise `CORRAL_NODE_MEMORY_PERCENT`. It does not count toward the breaker.',
  },
  start_failed: {
    means: 'The sandbox was refused, or ended before it was ready.',
    evidence:
      'The message says how. The controller’s log line `launch failed` has the `step` at which it stood and, of a sandbox that died, its `cause` and `lastWords`. `starts_failed`: so many in a row failed alike, see below.',
    operator:
      'Of one template: show the environment’s author the message. Of all: look at the provider. `corral_launches_total` with `type="failed"` counts them; ten in a row open the breaker. If three in a row fail for one reason that every other sandbox has, too (a root or data folder that is missing or cannot be mounted, a memory limit above the machine’s memory), the breaker opens, and every request that waits on the native and E2B faces gets its answer at once, with `retryable: false`. Fix the folder: the next rollout is tried for at once.',
  },
  start_timeout: {
    means: 'The sandbox was created and did not answer its no-op within the template’s start timeout.',
    evidence: 'The message and the log line `launch failed` name the `step` at which it stood.',
    operator:
      'While images are pulled, wait or cache them on the nodes. At `prepare`, the template’s own commands are slow: prepare them into the image. Else look for a node with too much to do.',
  },
  setup_failed: {
    means:
      'A command of the environment failed: of `prepare`, before the sandbox was ready, or of `setup`, in one sandbox after another. Or the program that makes its data failed, or a pod’s image did not bring the data along. Or a database of a query of its tools cannot be asked. Or a program that one of its tools always runs is not in the image, or not for the commands’ user, before the first call: that is never told to the model as its own mistake.',
    evidence:
      '`step`: which one. `seen`: its exit code and the beginning of its stderr. `data`: what is amiss with it. Of a missing program: `image` and `programs`; the message names the tools. `starts_failed`: so many starts in a row ended with the same exit code of `prepare`, or over the same data.',
    operator:
      'The environment’s author fixes it; `corral preflight` opens one rollout and shows the same. Where only some rollouts fail, the reason is in their dataset rows: `corral preflight --items`. Of `prepare` and data, three in a row are answered as those of `start_failed` are. So is a `setup` that ends with an exit code, or does not find its program or folder, in three sandboxes of one request.',
  },
  sandboxd_unreachable: {
    means:
      'A sandbox did not take the connection, or broke it, for something that a repeat does again: the bind, a file transfer, the look before a grade, or a call that could not be sent to it for as long as its request was held; or five sandboxes of one request did not take its rollout. Of such a call nothing ran (`admitted`: `no`), and nothing is tainted.',
    evidence: '`trouble`: how the connection failed. `sandbox`: which one.',
    operator:
      'Single ones pass. Refused with 401: the fleet key of that gateway is not the controllers’, and its `/readyz` says `fleet_key`. Many on one node: look at that node and its network. A sandbox that is gone in truth becomes `sandbox_lost` within seconds.',
  },
} as const satisfies Partial<Record<FailureCode, Meaning>>;

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
      'A tool reported by an exit code of its `dependency` that its backend failed, and Corral’s own probe of that backend failed at the time of the call, or no probe could be made. Or the database of a tool with `index` could not be read any more. What the policy saw is not what the task is about.',
    evidence:
      '`tool`, `exit_code`, and `said`: the beginning of its stderr. `probe`: its host; `probed`: how the probe failed, or why there was none. `doubt`: why the policy may have caused it, with `suspected: dependency`.',
    operator:
      'Fix the backend. `doubt` names a run that makes most of its calls: give the backend room, or the run fewer rollouts at once. If it says that no probe was ever good, gateways cannot reach the address: open their egress. A database breaks by its disk, or if a `source` is changed under running sandboxes.',
  },
} as const satisfies Partial<Record<FailureCode, Meaning>>;

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

/** Why the fleet itself cannot answer now. */
export const fleetItself = {
  state_unavailable: {
    means:
      'Redis does not answer, or cannot serve: it is loading, out of memory, or a replica that may not write. Of one rollout: it has lost the dataset row, and the request did not bring it again; or it is new, and nine tenths of `maxmemory` are used by what may not be forgotten.',
    evidence:
      '`redis`: its own words. `fleet_state` of `/readyz`, and `corral_redis_up`, of every process that cannot reach it.',
    operator:
      'Bring Redis back; nothing else is needed. Sandboxes go on meanwhile, and finished answers wait in their journals. Where only new rollouts are refused, raise its `maxmemory`.',
  },
  recovering: {
    means:
      'Redis was restarted or replaced, and a controller is writing the fleet back from the provider’s list and from what each sandbox says of itself. Of one rollout: its sandbox has not answered since.',
    evidence:
      'The message says which of the two. When it is over the controller logs `this Redis now holds the fleet`, with counts.',
    operator:
      'It takes seconds. Where it lasts: is a controller up, and does it reach the provider and the sandboxes?',
  },
  provider_unavailable: {
    means:
      'The engine that makes sandboxes (`node`, or the Kubernetes API) does not answer, or takes nothing more for now.',
    evidence: 'The message has its own words; `corral_loop_failures_total` of the controller rises.',
    operator:
      'Bring it back. Only starts and removals need it: rollouts that have a sandbox go on, and the breaker does not count it.',
  },
  gateway_overloaded: {
    means:
      'This gateway holds as many requests, or bytes of bodies, as it may. Or it did, and this request’s body came too slowly and made room for another ([which one](operators.md#held-requests-and-slow-bodies)).',
    evidence:
      '`heldRequests`, `heldBodyBytes`; `corral_gateway_held_requests` over time; `corral_gateway_slow_bodies_dropped_total`.',
    operator:
      'Add gateways. With memory to spare, raise `CORRAL_MAX_HELD_REQUESTS` or `CORRAL_MAX_HELD_BODY_BYTES`.',
  },
  rows_full: {
    means:
      'The dataset rows of the tenant’s open rollouts fill its share of Redis: 256 MiB, and never more than a quarter of Redis’ `maxmemory`. A row goes with the end of its rollout. Other tenants are not touched.',
    evidence: '`corral runs` shows open rollouts; the trainer’s rows are up to 1 MB each.',
    operator:
      'Mostly nothing: the trainer sends smaller rows, or keeps fewer rollouts open. With memory to spare, raise `maxmemory` and `CORRAL_MAX_TENANT_ROW_BYTES` and start the gateways again.',
  },
  shutting_down: {
    means:
      'This gateway was told to stop: it takes nothing new and finishes what it holds. What it could not finish within its grace is told this too, with `admitted: unknown`: the same request at another gateway joins what was begun.',
    evidence: '`/readyz` of that gateway is 503 and says `gateway`.',
    operator:
      'Nothing, while gateways are being replaced; of many with `admitted: unknown`, the grace is too short ([how they leave](operators.md#gateways-that-leave)). A load balancer that goes on sending does not look at `/readyz`.',
  },
  unclassified: {
    means: 'An error that nobody has given a code. It counts as ours, and it is a bug.',
    evidence:
      '`error` and `message`; the gateway logs it at level `error`, with rollout and call. `corral_gateway_failures_total` and `corral_controller_failures_total` with `code="unclassified"` exist from the start, at zero.',
    operator: 'Alert on any rise and report it with the log line; it gets a code of this page, or is fixed.',
  },
} as const satisfies Partial<Record<FailureCode, Meaning>>;
