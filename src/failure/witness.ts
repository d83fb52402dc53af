import type { FailureCode, LossCause } from './codes.ts';
import type { Evidence } from './failure.ts';

/**
 * Whose word a failure is. Where commands may have sandboxd's id, a policy can write or withhold all that its sandbox says: a discard
 * that rests on this word alone is marked there. `markOf` of lib/verdict.lua does that, as fleet state knows where ids are apart.
 *
 *   outside      a provider, a node, a probe, fleet state, the caller; or what a sandbox says before its policy has run anything
 *   sandbox      what only the sandbox says, or that it says nothing
 *   by_evidence  either: the evidence has `said_by: sandbox`
 */
type Witness = 'outside' | 'sandbox' | 'by_evidence';

/** In the evidence of a failure that several could report: here it was sandboxd. */
export const saidBySandbox = { said_by: 'sandbox' } as const;

/** A code or cause without a witness does not compile. */
const witnesses: Readonly<Record<FailureCode | LossCause, Witness>> = {
  capacity_timeout: 'outside',
  line_full: 'outside',
  image_unavailable: 'outside',
  unschedulable: 'outside',
  start_failed: 'outside',
  start_timeout: 'outside',
  setup_failed: 'outside',
  sandboxd_unreachable: 'sandbox',
  sandbox_lost: 'by_evidence',
  outcome_unknown: 'sandbox',
  // Probes decide; what they cannot decide is marked where it is doubted.
  dependency_failed: 'outside',
  still_running: 'outside',
  // A judge, or fleet state; or sandboxd, of a grader that works in a sandbox.
  grader_failed: 'by_evidence',
  // The author’s canaries, as gateways sent them.
  judge_suspect: 'outside',
  rollout_unknown: 'outside',
  state_unavailable: 'outside',
  recovering: 'outside',
  provider_unavailable: 'outside',
  gateway_overloaded: 'outside',
  shutting_down: 'outside',
  rows_full: 'outside',
  // While a call runs that its sandbox never ended. Fleet state counts those.
  rollout_expired: 'by_evidence',
  rollout_closed: 'outside',
  run_closed: 'outside',
  answer_expired: 'outside',
  voided: 'outside',
  call_conflict: 'outside',
  score_conflict: 'outside',
  invalid_request: 'outside',
  unknown_environment: 'outside',
  environment_mismatch: 'outside',
  item_mismatch: 'outside',
  unknown_call: 'outside',
  item_missing: 'outside',
  requirements_unmet: 'outside',
  tool_not_configured: 'outside',
  payload_too_large: 'outside',
  unauthorized: 'outside',
  // Whatever it was, an answer that keeps to no protocol may have led to it.
  unclassified: 'sandbox',

  sandboxd_killed: 'outside',
  sandbox_exited: 'outside',
  deleted: 'outside',
  evicted: 'outside',
  preempted: 'outside',
  node_drained: 'outside',
  node_lost: 'outside',
  pod_replaced: 'by_evidence',
  boot_changed: 'sandbox',
  out_of_memory: 'outside',
  node_out_of_memory: 'by_evidence',
  out_of_disk: 'outside',
  node_disk_full: 'sandbox',
  node_limit_used_up: 'sandbox',
  request_lost: 'by_evidence',
  expired: 'by_evidence',
};

/** Whether only the sandbox says so. A code that is not known rests on nothing else. */
export function restsOnSandbox(what: unknown, { said_by }: Evidence): boolean {
  const witness = isNamed(what) ? witnesses[what] : 'sandbox';
  return witness === 'sandbox' || (witness === 'by_evidence' && said_by === saidBySandbox.said_by);
}

const isNamed = (what: unknown): what is FailureCode | LossCause =>
  typeof what === 'string' && Object.hasOwn(witnesses, what);
