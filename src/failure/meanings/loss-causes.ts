import type { LossCause } from '../codes.ts';
import type { Meaning } from './meaning.ts';

/** Why a sandbox is gone: the `cause` of `sandbox_lost`, and of `corral_sandboxes_lost_total`. */
export const lossCauses = {
  sandboxd_killed: {
    means:
      'A signal ended sandboxd. Either memory was not short, or a pod was killed for memory and it is unknown whose: its memory request is below its limit, or the node’s events cannot be read. If commands have sandboxd’s id and one has run, a signal that no crash brings about is the model’s: `sandbox_broken`, and not a loss.',
    evidence:
      '`signal`; `commandsRunAs: sandboxd` if a command could have caused it; `memoryRequest: below the limit`, or `nodeEvents` with the reason.',
    operator: 'Find the process that sends the signal.',
  },
  sandbox_exited: {
    means: 'Its first process ended by itself before its hard life was over.',
    evidence: '`exitCode`, and `lastWords`: the end of its log.',
    operator: 'sandboxd has crashed: report it with `lastWords`.',
  },
  deleted: {
    means: 'It was removed from outside, or the provider no longer lists it.',
    evidence: '`observed` if it was only missing in the list.',
    operator:
      'Find what deletes it: a person, a clean-up job, or an autoscaler that ignores the do-not-disrupt mark.',
  },
  evicted: {
    means:
      'The node was short of memory or disk and evicted it, or a client of the API server’s eviction did. The first is marked: what ran in the sandbox may have made the node short.',
    evidence: 'The pod’s status and the node’s conditions; `suspected` if the node was short.',
    operator: 'Raise the environment’s requests to what it uses, so that nodes are not overcommitted.',
  },
  preempted: {
    means: 'A pod of higher priority took its place, or a spot machine was reclaimed.',
    evidence: 'The pod’s disruption condition.',
    operator:
      'Give sandboxes a priority class, or keep them off spot machines; both are cheaper than repeated rollouts.',
  },
  node_drained: {
    means:
      'Its node was emptied: a drain, an upgrade, an autoscaler, a spot notice or an orderly shutdown, which did not wait for the rollout.',
    evidence: 'The pod’s disruption condition, and the node’s name.',
    operator:
      'Let drains wait: with a disruption budget for claimed sandboxes they wait until the rollouts end. Spot machines give at most two minutes; keep long rollouts off them.',
  },
  node_lost: {
    means:
      'Its machine no longer exists or does not respond. On one machine: the `node` process ended, and its sandboxes with it.',
    evidence: 'The node’s conditions; `endedByNode: node_stopping` if `node` was asked to stop.',
    operator: 'Check the machine. On one machine `corral up` restarts `node`; its log has the reason.',
  },
  pod_replaced: {
    means:
      'Another sandbox responds at its address. Or Redis has lost its last writes and points to a sandbox that the rollout never used.',
    evidence:
      '`seen_by`, and `detail`: sandboxd refused because it is another sandbox, or not bound. Nothing ran.',
    operator:
      'The sandbox was lost earlier, and the provider did not report it: check the controller’s watch. With “bind a rollout first”, Redis had lost data.',
  },
  boot_changed: {
    means: 'The same sandbox responds with another boot of its daemon, so everything that ran in it is lost.',
    evidence: '`seen_by`: `gateway`, `controller` or `grading`. `boot_after`: the boot that responded.',
    operator: 'Find what restarts containers in place: sandboxes must be replaced, never restarted.',
  },
  out_of_memory: {
    means:
      'The sandbox reached its own memory limit, and all of it was killed. After the first call the model caused it, by the call or by a process that it left behind: `sandbox_broken`, and not a loss.',
    evidence: '`outOfMemoryKills`, and `memoryLackedBy: sandbox`.',
    operator: 'Background processes need too much memory: raise the environment’s memory `limit`.',
  },
  node_out_of_memory: {
    means:
      'The machine had no memory left, and its kernel killed a process in this sandbox, which was below its own limit. Kernels choose commands first. A call whose command was killed is lost, too, because its result is unknown; and the next call or grade, if something was killed that a call had left behind. Or it is not known who lacked memory: then the kill does not count against the policy.',
    evidence:
      '`memoryLackedBy: machine` or `unknown` with `outOfMemoryKills`; `endedByNode: machine_out_of_memory` if `node` read it in the kernel’s log; `seen_by` and `outOfMemoryKills` if sandboxd noticed it at the end of a call; `nodeEvent` if the cluster reported it. It is marked unless `node` itself counted the kill: a policy can bring about the node’s event and, with sandboxd’s id, its report.',
    operator:
      'The machine promises more memory than it has: raise the environments’ memory `request`, or place fewer sandboxes there. If `unknown` is frequent, move to cgroup v2, which counts it.',
  },
  out_of_disk: {
    means:
      'The sandbox exceeded its disk limit, and the cluster evicted it. After the first call the model caused it, by the call or by a process that it left behind: `sandbox_broken`, and not a loss.',
    evidence: '`podMessage`: the kubelet’s message with the limit.',
    operator: 'Raise the environment’s `disk` if its tasks need more.',
  },
  node_disk_full: {
    means:
      'The disk that the sandbox shares with the other pods of its node was full while a call ran: less than 1 % of blocks or inodes was left. Writes may have failed that the sandbox’s own limit allows, so the result of the call is unknown.',
    evidence: '`seen_by`: `gateway`, `controller` or `grading`. sandboxd looks four times a second.',
    operator:
      'Find the pod that fills the disk. Give sandboxes volumes with a size of their own, or nodes with project quotas, so that no sandbox can use more than its `disk`.',
  },
  node_limit_used_up: {
    means:
      'A limit of the kernel that sandboxes of the machine share was used up while a call ran. A program of the sandbox may have failed for what another one took, so the result of the call is unknown.',
    evidence:
      '`limits`: `inotify_instances`, `inotify_watches`, `epoll_watches`, `pipe_memory`, `pending_signals`, `files_in_flight`, `message_queues` or `locked_memory` of a user; `pseudo_terminals` of the machine. `seen_by`: `gateway`, `controller` or `grading`. sandboxd looks four times a second.',
    operator:
      'Raise the limit on the nodes, such as `fs.inotify.max_user_instances` or `kernel.pty.max`; see [nodes](nodes.md#what-only-a-better-node-prevents). Find the rollout that takes it: its discards have the same cause.',
  },
  request_lost: {
    means:
      'Only for sandboxes of [E2B’s clients](clients/e2b.md#what-a-lost-request-becomes). A request got no answer that says what happened: no gateway listened, its gateway died, or the answer was an infrastructure failure. Such a client goes on as if the policy had failed, so the sandbox is given up before anything is graded.',
    evidence:
      '`reason`: `no_gateway_listened`, `gateway_died`, `failed` with the `code` of that failure, or `client_left` while fleet state could not be reached.',
    operator:
      'Run at least two gateways, so that one always listens. If `reason` is `failed`, check what its `code` says.',
  },
  expired: {
    means: 'Its hard life was over and it ended itself.',
    evidence: 'Exit code 0 at its expiry, or `endedByNode: expired`.',
    operator: 'Rollouts take longer than `limits.hard_life` of their environment.',
  },
} as const satisfies Record<LossCause, Meaning>;
