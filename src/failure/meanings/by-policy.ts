import type { FailureCode, LossCause } from '../codes.ts';

/**
 * Every code is a way to a discard: the platform repeats a 5xx three times, then it drops the rollout. So of each is
 * asked whether a policy could bring it about alone, by what it calls, runs or answers:
 *
 *   no       something that is not in its hands must happen too
 *   marked   it cannot be ruled out: the discard is counted and marked `suspected`, so that a policy that learns it is noticed
 *   setting  only where a setting of the environment, the trainer or the operator leaves it the room; `why` says which
 *
 * A plain yes does not stand here: that is a finding, and becomes an answer of the model's own.
 */
export type ByPolicy = { readonly alone: 'no' | 'marked' | 'setting'; readonly why: string };

const no = (why: string): ByPolicy => ({ alone: 'no', why });
const marked = (why: string): ByPolicy => ({ alone: 'marked', why });
const setting = (why: string): ByPolicy => ({ alone: 'setting', why });

const beforeItsFirstCall = no('The policy has not run anything yet.');

/** A code without an answer to this does not compile. */
export const byPolicy: Readonly<Record<FailureCode, ByPolicy>> = {
  capacity_timeout: no(
    'The rollout waits before its first call. It can slow others down only within its limits.',
  ),
  line_full: beforeItsFirstCall,
  image_unavailable: beforeItsFirstCall,
  unschedulable: beforeItsFirstCall,
  start_failed: beforeItsFirstCall,
  start_timeout: beforeItsFirstCall,
  setup_failed: no('`prepare` and `setup` run before its first call, with fields of the dataset row only.'),
  sandboxd_unreachable: setting(
    'Its commands cannot signal or trace sandboxd, or enter the folder of its socket. With `run_as: root` or `uid: single` they can stop it without ending it; in a pod they can fill its 512 connections over loopback. A grade that fails for this in three turns is discarded with the mark.',
  ),
  sandbox_lost: marked(
    'Depends on the cause, [below](#could-the-policy-do-it-alone). If its commands or their background processes demonstrably caused it, it is `sandbox_broken`.',
  ),
  outcome_unknown: marked(
    'If it starves sandboxd for longer than its call may last. Calls that wait behind its other calls do not count: sandboxd reports that it has them.',
  ),
  dependency_failed: marked(
    'Witness: a probe of the backend by a gateway, from outside of the sandbox. Marked if that proves less: the rollout’s run makes most of the backend’s calls and may have overloaded it; no probe has been good for a day; or no probe could be made. A query’s broken database is sandboxd’s word, which no policy can write. A failure of a package mirror is always marked: node counts failed requests and probes the mirror, but a mirror may refuse a machine for what one sandbox asked.',
  ),
  still_running: setting(
    'One call ends within a request. At most 48 run at once, and those beyond what a sandbox keeps room for (8 MiB, twice `output_bytes` each: 16 of the largest) wait for one another: keep three `timeout`s below the 36 minutes of four requests; `limits.grade` too.',
  ),
  grader_failed: marked(
    'A command grader’s bad endings and a judge’s refusals are worth what `on_…` says. A discard is marked if files cannot be read, the grader does not start or does not end, processes cannot be killed, the sandbox is silent until the turn ends, a request to a package mirror fails or is refused, or a judge fails or is silent: the policy may have caused it. A want of memory or processes counts as the policy’s, `on_broken`, only if the sandbox’s own account shows it; in the policy’s own sandbox, a second try of the grader must find the same. `limits.grade` must hold all of the grader’s timeouts.',
  ),
  judge_suspect: no(
    'Canaries hold no byte of a policy, and only a score outside of their bounds counts. A judge that is slow or silent, for whatever it was asked, is no evidence; nor is a mean that jumps.',
  ),
  rollout_unknown: setting(
    'Calls of tools that are not here and calls with wrong arguments count for nothing. A call with right arguments that the platform lists and does not send counts, such as one beyond the platform’s own budget: keep that above `limits.tool_calls`, or choose `unseen_calls: report`.',
  ),
  state_unavailable: no(
    'It cannot reach Redis, and what Redis keeps of it is limited: 16 answers, 10,000 calls.',
  ),
  recovering: no('It cannot reach Redis.'),
  provider_unavailable: no('It cannot reach the engine.'),
  gateway_overloaded: setting(
    'Calls that sleep, many at once, in many rollouts: 48 × rollouts of a step may pass the 4,000 requests that a gateway holds. Add gateways, or lower `tool_calls`.',
  ),
  rows_full: no(
    'It does not choose the dataset’s rows, and its rollout’s row is kept from the first call on.',
  ),
  shutting_down: no('The operator stops gateways.'),
  rollout_expired: setting(
    'The trainer calls, so idling is the trainer’s; but a policy that thinks for longer than `limits.idle` between two calls idles out. Keep it above the longest that the trainer lets it write. `limits.hard_life` must hold the rollout’s time, a last call and the grade. With `run_as: root` or `uid: single`, an end while a call runs, or after a call, a transfer or a grade that the sandbox did not serve, is marked: the policy may have stopped the sandbox.',
  ),
  rollout_closed: no('The trainer ends rollouts. On the RFT face a score does.'),
  run_closed: no('The trainer ends runs, or its heartbeat does.'),
  answer_expired: no('Only the trainer repeats calls; the policy does not choose their ids.'),
  call_conflict: no('The policy does not choose call ids.'),
  score_conflict: no('The policy sends no score: it has no key.'),
  invalid_request: no(
    'A mistake in what it chooses within a request is its own: `200`. The platform chooses the request’s shape.',
  ),
  unknown_environment: no('The job’s addresses name it.'),
  environment_mismatch: no('The job’s addresses name it.'),
  item_mismatch: no('The trainer names rollouts and their rows.'),
  unknown_call: no('The policy does not choose call ids.'),
  item_missing: no('It does not choose the dataset’s row.'),
  requirements_unmet: no(
    'The task and the environment decide it before anything of the policy has run; a verifier that leaves no reward is judged by runs in which no policy took part.',
  ),
  voided: no('Only a key of the tenant voids a rollout, and never one with a score.'),
  tool_not_configured: setting(
    'The address names the tool. Only where a job gives several tools the one address `/rft/ENVIRONMENT/tools` does the call’s own name decide: use an address for each, as `corral preflight` prints them.',
  ),
  payload_too_large: setting(
    'Of arguments or a last answer as long as the platform’s own limit of 1 MB: bound the tokens of one answer.',
  ),
  unauthorized: no('The job has the keys.'),
  unclassified: setting(
    'Not known in advance: each is a bug to fix, and with the fix it is decided whether a policy can cause it. With `run_as: root` or `uid: single` its sandbox may break the protocol: a call is asked for again until its time is over, and what is discarded is marked.',
  ),
};

/** The same of the causes of `sandbox_lost`. `marked` where `suspectedOf` marks it; a test compares the two. */
export const lossByPolicy: Readonly<Record<LossCause, ByPolicy>> = {
  sandboxd_killed: marked(
    'Commands have another id than sandboxd and cannot signal it. If they share its id, this is `sandbox_broken`, unless the signal is one of a crash (`SIGBUS`, `SIGSEGV`, `SIGABRT` and the like), or memory was lacked and it is unknown whose.',
  ),
  sandbox_exited: marked(
    'No command is known to end sandboxd. If commands share its id, they can make it end as if by a mistake of its own; a disk that fails does the same.',
  ),
  deleted: no('Only a user with access to the engine can do it.'),
  evicted: marked(
    'What it writes, and the memory that it uses above its request, can make the node short. An eviction that a client asks for is not marked: no policy can ask.',
  ),
  node_out_of_memory: marked(
    'A sandbox at its own limit is killed for that, and the model caused it. A node’s event is marked, because a policy can bring the words of a shortage into the kernel’s log, and so is what sandboxd alone reports. On one machine the witness is the kernel’s account that `node` reads; if that promises more memory than it has, set `CORRAL_NODE_MEMORY_PERCENT` to 100.',
  ),
  node_disk_full: marked(
    'The kubelet measures what a pod writes only now and then, so a command can fill the disk of its node until then.',
  ),
  node_limit_used_up: marked(
    'The kernel counts these things for a user or for the machine, so a command can take all of them, also from the others.',
  ),
  node_drained: no('Only operators, autoscalers and the spot market drain nodes.'),
  preempted: no('The scheduler or the market decides.'),
  node_lost: marked(
    'In pods no limit counts all memory and disk that a command can take, so it may have taken its node down. Not marked if the node said before that it was shutting down, or the cloud provider says that its machine was stopped. On one machine `node` limits all of that, and the loss is not marked.',
  ),
  request_lost: marked(
    'It cannot reach gateways or Redis. Marked if a request failed because its sandbox took no connection, which commands can bring about with `run_as: root` or `uid: single`.',
  ),
  pod_replaced: setting(
    'The engine assigns addresses. With `run_as: root` or `uid: single` its sandbox may say that it is another one: such a discard is marked.',
  ),
  boot_changed: marked('Sandboxes are never restarted, and what ended the daemon is unknown.'),
  out_of_memory: marked(
    'After its first call it is `sandbox_broken`. This is left for a grader without any call.',
  ),
  out_of_disk: marked(
    'After its first call it is `sandbox_broken`. This is left for a grader without any call.',
  ),
  expired: setting(
    '`limits.hard_life` must hold the rollout’s time, a last call and the grade. With `run_as: root` or `uid: single` its sandbox may say so earlier: such a discard is marked.',
  ),
};
