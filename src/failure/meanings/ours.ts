import type { FailureCode } from '../codes.ts';
import type { Meaning } from './meaning.ts';

/*
 * What the failures mean that are ours, in the order of a rollout's life: none of them says anything of the model. `rows_full` is
 * the caller's and stands with the fleet's, because it passes by itself as theirs do.
 */

/** Why a rollout has no sandbox, or cannot reach it: nothing ran. */
export const noSandbox = {
  capacity_timeout: {
    means: 'The rollout waited until its request had no time left, and no sandbox became free.',
    evidence:
      '`ahead`: the number of rollouts before it in the line. In `corral_fleet_pool`, `waiting` is above zero while `held` is at the pool’s maximum, or while `launching` does not turn into `ready`.',
    operator:
      'If `held` is at the maximum, raise the environment’s `pool.max`, or add machines. If launches lag behind, raise `CORRAL_START_BUDGET` or `pool.min_ready`, or let the trainer announce its bursts with `POST /v1/prewarm`.',
  },
  line_full: {
    means:
      'The waiting line is full: 2,000 rollouts of one run, or 10,000 of the fleet. For a `prewarm`: too many runs announce bursts of this template.',
    evidence: '`corral_fleet_pool` with `state="waiting"` shows the line.',
    operator:
      'Add capacity, or let the trainer open fewer rollouts at once. A run at its own limit does not keep other runs out.',
  },
  image_unavailable: {
    means:
      'The provider cannot get the template’s image: no such reference, or the registry refused it. On one machine only a registry’s own codes, or a missing archive, have this code.',
    evidence: 'The message quotes the provider. The controller’s log line `launch failed` has the details.',
    operator:
      'Check the reference and the pull secret (on one machine `CORRAL_IMAGE_AUTH_FILES`, and for a row’s image a pattern that begins with its registry) with the environment’s author. After ten failed starts in a row the controllers stop launching the template (`corral_fleet_breaker_open`). They try one start every 30 s and resume when it succeeds.',
  },
  unschedulable: {
    means:
      'No machine has room for the template’s requests, and an autoscaler has not added one in time. Or the quota of the sandboxes’ namespace was used up for the template’s whole start timeout. On one machine: for that long, its memory was promised to other sandboxes or in use, or its data was still being built.',
    evidence:
      'The message quotes the scheduler or the quota. On one machine it has the promised and the available memory.',
    operator:
      'Add machines or quota, or lower the environment’s `cpu`, `memory` or `disk` request. On one machine: lower the memory limit or `pool.max`, or raise `CORRAL_NODE_MEMORY_PERCENT`. It does not count toward the breaker.',
  },
  start_failed: {
    means: 'The sandbox was refused, or ended before it was ready.',
    evidence:
      'The message has the reason. The controller’s log line `launch failed` has the `step` and, for a sandbox that ended, its `cause` and `lastWords`. `starts_failed`: how many starts in a row failed for the same reason, see below.',
    operator:
      'If only one template fails, show the message to the environment’s author. If all fail, check the provider. `corral_launches_total` with `type="failed"` counts them; ten in a row open the breaker. Some reasons hold for every sandbox: a root or data folder that is missing or cannot be mounted, or a memory limit above the machine’s memory. After three in a row the breaker opens, and all waiting requests on the native and E2B faces fail at once, with `retryable: false`. After the fix the next rollout starts a sandbox at once.',
  },
  start_timeout: {
    means:
      'The sandbox was created, but did not respond to its first probe within the template’s start timeout.',
    evidence: 'The message and the log line `launch failed` name the `step`.',
    operator:
      'If images are being pulled, wait, or cache them on the nodes. At the step `prepare`, the template’s own commands are slow: move them into the image. Otherwise look for an overloaded node.',
  },
  setup_failed: {
    means:
      'A command of the environment failed: one of `prepare` before the sandbox was ready, or one of `setup` in several sandboxes in a row. Or the program that builds its data failed, or a pod’s image lacks the data. Or the database of a query tool cannot be read. Or a program that a tool always runs is missing in the image, or the commands’ user may not run it. Or its `penalty` charges for time or output, and commands here have sandboxd’s id and could report both themselves. This is checked before the first call, so the model never gets it as its own mistake.',
    evidence:
      '`step`: the failed step. `seen`: its exit code and the beginning of its stderr. `data`: what is wrong with the data. For a missing program: `image` and `programs`; the message names the tools. `starts_failed`: how many starts in a row ended with the same exit code of `prepare`, or because of the same data.',
    operator:
      'The environment’s author fixes it; `corral preflight` opens one rollout and shows the same error. If only some rollouts fail, the reason is in their dataset rows: use `corral preflight --items`. Three failures of `prepare` or data in a row have the same effect as three of `start_failed`. So has a `setup` that fails with an exit code, or lacks its program or folder, in three sandboxes of one request.',
  },
  sandboxd_unreachable: {
    means:
      'A sandbox refused or broke the connection during a step that can be repeated: the bind, a file transfer, the check before a grade, or a call that could not be sent for as long as its request was held. Or five sandboxes in a row refused the rollout. The call did not run (`admitted`: `no`), and the rollout is not tainted.',
    evidence: '`trouble`: how the connection failed. `sandbox`: its id.',
    operator:
      'Single cases pass. If sandboxes refuse with 401, the gateway has another fleet key than the controllers, and its `/readyz` says `fleet_key`. If there are many on one node, check that node and its network. A sandbox that no longer exists becomes `sandbox_lost` within seconds.',
  },
} as const satisfies Partial<Record<FailureCode, Meaning>>;

/** Why a rollout that had begun can never be scored. */
export const lostState = {
  sandbox_lost: {
    means:
      'The sandbox no longer exists, and commands had run in it that could not be replayed in another: calls that were not [set-up](api.md#set-up), or set-up that cannot be replayed, or ended otherwise in the next sandbox.',
    evidence:
      '`cause`: one of [these causes](#why-a-sandbox-was-lost), and what the provider reports: `exitCode`, `signal`, `outOfMemoryKills`, `memoryLackedBy`, `lastWords`. For a call in flight: `call`, `sandbox` and `admitted`. `replay`: why a replay of its set-up failed.',
    operator:
      'Check the cause. `corral_sandboxes_lost_total` counts by cause and effect. A loss of one rollout in a thousand is a good day.',
  },
  outcome_unknown: {
    means:
      'A call was sent, and until its deadline its sandbox did not say whether the call ran. The sandbox may still exist.',
    evidence:
      '`call`, `tries`, `admitted`, and `detail`: how the last connection failed. The event log has the same fields.',
    operator:
      'Look for a network that drops packets between gateways and sandboxes, and for nodes that are too busy for sandboxd to respond.',
  },
  dependency_failed: {
    means:
      'A tool reported by an exit code of its `dependency` that its backend failed, and Corral’s own probe of that backend failed at the time of the call, or no probe could be made. Or the database of a tool with `index` could no longer be read. Or a [package mirror](environments/network.md#outages) failed a request of the sandbox while a command ran, and a probe of it too. The policy saw a failure that is not part of its task.',
    evidence:
      '`tool`, `exit_code`, and `said`: the end of its output. `probe`: its host; `probed`: how the probe failed, or why there was none. `doubt`: why the policy may have caused it, with `suspected: dependency`.',
    operator:
      'Fix the backend. `doubt` names a run that makes most of its calls: give the backend room, or the run fewer rollouts at once. If it says that no probe was ever good, gateways cannot reach the address: open their egress. A database breaks by its disk, or if a `source` is changed under running sandboxes.',
  },
} as const satisfies Partial<Record<FailureCode, Meaning>>;

/** Why there is no answer yet, or no score. */
export const unfinished = {
  still_running: {
    means:
      'The request’s time is over, and the command or grader still runs. This is not a failure and not counted as one: the repeated request attaches to the same work.',
    evidence: '`admitted: yes`.',
    operator:
      'Nothing. If it uses up the platform’s retries, the environment’s author lowers the tool’s `timeout`.',
  },
} as const satisfies Partial<Record<FailureCode, Meaning>>;

export const grading = {
  grader_failed: {
    means:
      'The grader returned no finite number: it could not start, ended in a way that its environment discards, wrote something else, or its judge did not respond. Or a [package mirror](environments/network.md#outages) failed one of its requests, or the bounds of its sandbox refused one. After three failed turns the rollout is discarded.',
    evidence:
      'Depends on the grader: `score_file`, `errno`, or `judge` with `tries` and `reason`. `suspected`: `command` if the policy may have broken the grader, `answer` if its answer may have made the judge fail.',
    operator:
      'Check the grader with the environment’s author: `corral rollout`, then `corral preflight`. If the share of `suspected: command` rises, a policy is learning to break its grader: give that ending a score instead of `discard`.',
  },
  judge_suspect: {
    means:
      'A [guarded judge](environments/graders.md#judges-under-guard) scored a canary outside of its bounds, so none of its scores that had not been answered yet counts. The rollout is discarded at once. Scores that were answered before stay as they are.',
    evidence:
      '`judge`: its host. `canary`, `given` (its score) and `expected`. `last_right_at_ms`: when all canaries were last right (0: never in this run). A [finding](findings.md) of the run lists the grades that were answered since.',
    operator:
      'With the author: ask the judge for that canary and repair the judge, or correct the bounds. The next grade checks it again. Decide about the grades that the finding lists: void each that you do not believe.',
  },
  rollout_unknown: {
    means:
      'The fleet does not know this rollout, so its calls cannot be confirmed. Or a grade names calls that never arrived. Such a rollout is not scored.',
    evidence:
      '`calls_named`: the number of calls that the platform names. `calls_unseen` and `first_unseen`: calls that never arrived.',
    operator:
      'After Redis lost its data, this is expected once. Otherwise requests are lost between the platform and the gateways: check the proxies there. On the native face the id or the run is usually wrong.',
  },
} as const satisfies Partial<Record<FailureCode, Meaning>>;

/** Why the fleet itself cannot answer now. */
export const fleetItself = {
  state_unavailable: {
    means:
      'Redis does not respond, or cannot serve: it is loading, out of memory, or a read-only replica. For a single rollout: Redis has lost its dataset row, and the request does not have the row. Or the rollout is new, and data that must not be evicted uses nine tenths of `maxmemory`.',
    evidence:
      '`redis`: its error. `fleet_state` in `/readyz` and `corral_redis_up` of every process that cannot reach it.',
    operator:
      'Restore Redis; nothing else is needed. Sandboxes continue, and keep finished answers in their journals. If only new rollouts are refused, raise `maxmemory`.',
  },
  recovering: {
    means:
      'Redis was restarted or replaced, and a controller is restoring the fleet’s state from the provider’s list and from each sandbox’s own report. For a single rollout: its sandbox has not responded since.',
    evidence:
      'The message says which of the two it is. At the end the controller logs `this Redis now holds the fleet`, with counts.',
    operator:
      'It takes seconds. If it takes longer, check that a controller is running and reaches the provider and the sandboxes.',
  },
  provider_unavailable: {
    means:
      'The engine that creates sandboxes (`node`, or the Kubernetes API) does not respond, or accepts no requests for now.',
    evidence: 'The message quotes the engine; the controller’s `corral_loop_failures_total` rises.',
    operator:
      'Restore it. Only starts and removals need it: rollouts that have a sandbox continue, and the breaker does not count these failures.',
  },
  gateway_overloaded: {
    means:
      'This gateway holds its maximum of requests, or of bytes of bodies. Or it did, and this request’s body arrived too slowly and was dropped to make room ([details](gateways.md#held-requests-and-slow-bodies)).',
    evidence:
      '`heldRequests`, `heldBodyBytes`; `corral_gateway_held_requests` over time; `corral_gateway_slow_bodies_dropped_total`.',
    operator:
      'Add gateways. If they have memory to spare, raise `CORRAL_MAX_HELD_REQUESTS` or `CORRAL_MAX_HELD_BODY_BYTES`.',
  },
  rows_full: {
    means:
      'The dataset rows of the tenant’s open rollouts fill its share of Redis: 256 MiB, at most a quarter of `maxmemory`. A row is deleted when its rollout ends. Other tenants are not affected.',
    evidence: '`corral runs` shows open rollouts; the trainer’s rows are up to 1 MB each.',
    operator:
      'Usually nothing: the trainer sends smaller rows, or keeps fewer rollouts open. If Redis has memory to spare, raise `maxmemory` and `CORRAL_MAX_TENANT_ROW_BYTES`, then restart the gateways.',
  },
  shutting_down: {
    means:
      'This gateway is stopping: it refuses new requests and finishes the requests that it holds. Requests that it cannot finish in time fail with this code and `admitted: unknown`; the same request at another gateway attaches to the work.',
    evidence: '`/readyz` of that gateway is 503 and says `gateway`.',
    operator:
      'Nothing while gateways are replaced. If many have `admitted: unknown`, the grace is too short ([how gateways stop](gateways.md#gateways-that-leave)). A load balancer that continues to send requests does not check `/readyz`.',
  },
  unclassified: {
    means: 'An error without a code of its own. It counts as an infrastructure failure, and it is a bug.',
    evidence:
      '`error` and `message`; the gateway logs it at level `error`, with rollout and call. `corral_gateway_failures_total` and `corral_controller_failures_total` with `code="unclassified"` exist from the start, at zero.',
    operator: 'Alert on any rise and report it with the log line; it gets a code of this page, or is fixed.',
  },
} as const satisfies Partial<Record<FailureCode, Meaning>>;
