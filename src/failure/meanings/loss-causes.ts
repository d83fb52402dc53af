import type { LossCause } from '../codes.ts';
import type { Meaning } from './meaning.ts';

/** Why a sandbox is gone: the `cause` of `sandbox_lost`, and of `corral_sandboxes_lost_total`. */
export const lossCauses = {
  sandboxd_killed: {
    means:
      'A signal ended sandboxd, and not for want of memory. Where commands run under its id and one ran, this is the model’s doing, `sandbox_broken`, and no loss.',
    evidence: '`signal`; `commandsRunAs: sandboxd` where a command could have done it.',
    operator: 'Who kills there?',
  },
  sandbox_exited: {
    means: 'Its first process ended by itself, before its time.',
    evidence: '`exitCode`, and `lastWords`: the end of its log.',
    operator: 'sandboxd has crashed: report it with its last words.',
  },
  deleted: {
    means: 'Somebody removed it, or the provider no longer lists it.',
    evidence: '`observed` where it was only missed in the list.',
    operator:
      'Find out who deletes: people, a clean-up job, an autoscaler that does not heed the do-not-disrupt mark.',
  },
  evicted: {
    means: 'The node was short of memory or disk and threw it out.',
    evidence: 'The pod’s status and the node’s conditions.',
    operator: 'Raise the environment’s requests to what it uses, so that nodes are not promised twice.',
  },
  preempted: {
    means: 'Something of higher priority took its place, or the market took the machine back.',
    evidence: 'The pod’s disruption condition.',
    operator:
      'Give sandboxes a priority class, or keep them off spot machines; both are cheaper than repeated rollouts.',
  },
  node_drained: {
    means:
      'Its node was emptied: a drain, an upgrade, an autoscaler, a spot notice or an orderly shutdown, which did not wait for the rollout.',
    evidence: 'The pod’s disruption condition, and the node’s name.',
    operator:
      'Let drains wait: a disruption budget for claimed sandboxes holds them back until their rollouts end. Spot machines give at most two minutes; keep long rollouts off them.',
  },
  node_lost: {
    means:
      'Its machine is gone or silent. On one machine: the `node` process ended, and its sandboxes with it.',
    evidence: 'The node’s conditions; `endedByNode: node_stopping` where `node` was told to stop.',
    operator:
      'Look at the machine. `node` on one machine is started again by `corral up`; its log says why it ended.',
  },
  pod_replaced: {
    means:
      'Another sandbox answers at its address; or, after Redis has lost its last writes, one in which the rollout never lived.',
    evidence:
      '`seen_by`, and `detail`: sandboxd refused, for it is another than was meant or nobody’s, and nothing ran.',
    operator:
      'A trace of an earlier loss that the provider has not told: does the controller’s watch work? With “bind a rollout first”: of a Redis that had forgotten.',
  },
  boot_changed: {
    means: 'The same sandbox answers with another life of its daemon, so all that had run in it is gone.',
    evidence: '`seen_by`: `gateway`, `controller` or `grading`. `boot_after`: which boot answered.',
    operator: 'Something restarts containers in place; sandboxes are to be replaced, never restarted.',
  },
  out_of_memory: {
    means:
      'The sandbox reached its own memory limit and was killed as a whole. After the first call this is the model’s doing, `sandbox_broken`, and no loss: what a call leaves in the background does it as well as the call.',
    evidence: '`outOfMemoryKills`, and `memoryLackedBy: sandbox`.',
    operator: 'What runs in the background is too large: raise the environment’s memory `limit`.',
  },
  node_out_of_memory: {
    means:
      'The machine had no memory left, and its kernel killed something in this sandbox, which was below its own limit. Commands are what kernels choose first, so a call whose command it struck is told as lost too: nobody knows what it would have done.',
    evidence:
      '`memoryLackedBy: machine` with `outOfMemoryKills`; `endedByNode: machine_out_of_memory` where `node` read it in the kernel’s log; `seen_by` and `outOfMemoryKills` where sandboxd saw it at the end of a call; `nodeEvent` where the cluster told of it.',
    operator:
      'The machine promises more memory than it has: raise the environments’ memory `request`, or place fewer sandboxes there.',
  },
  out_of_disk: {
    means:
      'The sandbox used more disk than it may, and the cluster threw it out. After the first call this is the model’s doing, `sandbox_broken`, and no loss: what a call leaves there fills it as well as the call.',
    evidence: '`podMessage`: which limit, in the kubelet’s words.',
    operator: 'Raise the environment’s `disk`, if what it is for needs more.',
  },
  expired: {
    means: 'Its hard life was over and it ended itself.',
    evidence: 'Exit code 0 at its expiry, or `endedByNode: expired`.',
    operator: 'Rollouts take longer than `limits.hard_life` of their environment.',
  },
} as const satisfies Record<LossCause, Meaning>;
