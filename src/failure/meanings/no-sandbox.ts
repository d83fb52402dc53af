import type { FailureCode } from '../codes.ts';
import type { Meaning } from './meaning.ts';

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
      'The message says how. The controller’s log line `launch failed` has the `step` at which it stood and, of a sandbox that died, its `cause` and `lastWords`.',
    operator:
      'Of one template: show the environment’s author the message. Of all: look at the provider. `corral_launches_total` with `type="failed"` counts them; ten in a row open the breaker.',
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
      '`step`: which one. `seen`: its exit code and the beginning of its stderr. `data`: what is amiss with it. Of a missing program: `image` and `programs`; the message names the tools.',
    operator:
      'The environment’s author mends it; `corral preflight` opens one rollout and shows the same. Where only some rollouts fail, the reason is in their dataset rows: `corral preflight --items`.',
  },
  sandboxd_unreachable: {
    means:
      'A sandbox did not take the connection, or broke it, for something that a repeat does again: the bind, a file transfer, the look before a grade, or a call that could not be sent to it for as long as its request was held; or five sandboxes of one request did not take its rollout. Of such a call nothing ran (`admitted`: `no`), and nothing is tainted.',
    evidence: '`trouble`: how the connection failed. `sandbox`: which one.',
    operator:
      'Single ones pass. Refused with 401: the fleet key of that gateway is not the controllers’, and its `/readyz` says `fleet_key`. Many on one node: look at that node and its network. A sandbox that is gone in truth becomes `sandbox_lost` within seconds.',
  },
} as const satisfies Partial<Record<FailureCode, Meaning>>;
