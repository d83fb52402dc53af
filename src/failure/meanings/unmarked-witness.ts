import type { FailureCode, LossCause } from '../codes.ts';

/*
 * The witness of a discard that has no mark. A mark says that the policy may have caused the discard; without one, a witness is needed that
 * no policy can influence. Null: no such witness exists, and each such discard is marked.
 */
export type UnmarkedWitness = string | null;

const fleetState = 'Fleet state, which counts it. No sandbox can write there.';
const request = 'The request itself, and the record of the rollout in fleet state.';
const beforeFirstCall = 'The provider. The policy has not run anything in the sandbox.';
const gateway = 'The gateway that gives the answer, of its own state.';
const sandboxd =
  'sandboxd, from which commands are kept apart by another id. With `run_as: root` or `uid: single` it is marked.';
const apiServer = 'The API server: the pod’s disruption condition, which no pod can write.';

/** A code or cause without an answer does not compile. */
export const unmarkedWitness: Readonly<Record<FailureCode | LossCause, UnmarkedWitness>> = {
  capacity_timeout: fleetState,
  line_full: fleetState,
  image_unavailable: beforeFirstCall,
  unschedulable: beforeFirstCall,
  start_failed: beforeFirstCall,
  start_timeout: beforeFirstCall,
  setup_failed: 'What `prepare` and `setup` printed. The policy has not run anything in the sandbox.',
  sandboxd_unreachable:
    'The gateway, which cannot connect, and the provider, which still lists the sandbox. With `run_as: root` or `uid: single` it is marked.',
  sandbox_lost: 'By its cause, in this table.',
  outcome_unknown: null,
  dependency_failed: 'A probe of the backend by a gateway, over a connection of its own.',
  still_running: fleetState,
  grader_failed:
    'The judge, which cannot be reached or fails Corral’s harmless answer in another way; or the gateway, which lacks the judge’s secret or room for files. What a sandbox or an answer may have caused is marked.',
  judge_suspect:
    'The judge, by its scores of the author’s canaries. A gateway sends them itself, and nothing of a rollout is in them.',
  rollout_unknown: 'Fleet state, which has no record of the call or the rollout.',
  state_unavailable: 'The connection to Redis.',
  recovering: 'Redis, which says that it has lost its last writes.',
  provider_unavailable: 'The connection to the provider.',
  gateway_overloaded: gateway,
  shutting_down: gateway,
  rows_full: fleetState,
  rollout_expired: `${fleetState} While a call runs with \`run_as: root\` or \`uid: single\` it is marked.`,
  rollout_closed: fleetState,
  run_closed: fleetState,
  answer_expired: fleetState,
  voided: 'The key of the tenant that voided it, in the audit log.',
  call_conflict: request,
  score_conflict: request,
  invalid_request: request,
  unknown_environment: request,
  environment_mismatch: request,
  item_mismatch: request,
  unknown_call: request,
  item_missing: request,
  requirements_unmet: 'The task’s demands and the environment, which are compared before a sandbox is used.',
  tool_not_configured: request,
  payload_too_large: request,
  unauthorized: request,
  unclassified: sandboxd,

  sandboxd_killed: null,
  sandbox_exited: null,
  deleted: 'The provider: its watch reports the removal, or its list no longer has the sandbox.',
  evicted: `${apiServer} It says that a client asked for the eviction. If the node was short, it is marked.`,
  preempted: apiServer,
  node_drained: `${apiServer} On one machine \`node\` itself, which was asked to stop.`,
  node_lost:
    'The node, which said that it was shutting down, or the cloud provider. On one machine the process of `node`, which limits all memory and disk. Else it is marked.',
  pod_replaced:
    'The provider, or Redis, which has lost its last writes. If only the sandbox says so, with `run_as: root` or `uid: single`, it is marked.',
  boot_changed: null,
  out_of_memory: null,
  node_out_of_memory:
    'On one machine the kernel’s counters of memory, which `node` reads from outside. What an event of a cluster’s node or a sandbox says is marked.',
  out_of_disk: null,
  node_disk_full: null,
  node_limit_used_up: null,
  request_lost:
    'Fleet state, which had the request in hand. If the sandbox took no connection, it is marked.',
  expired:
    'The provider, whose clock measures the sandbox’s life. If only the sandbox says so, with `run_as: root` or `uid: single`, it is marked.',
};
