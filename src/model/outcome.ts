/**
 * What happened to one tool call; every call settles exactly once with one of these.
 *
 *   completed               the command or tool ran to its own end, whatever its exit code
 *   timed_out               it ran until its own timeout and was killed
 *   refused                 bad arguments, unknown tool, budget or time spent: nothing ran
 *   infrastructure_failure  dispatched, and then we failed; the rollout is tainted
 *   cancelled               the trainer stopped it
 */
export type Outcome = 'completed' | 'timed_out' | 'refused' | 'infrastructure_failure' | 'cancelled';

/** Why nothing ran or what the model's own failure was; every one of them is an answer 200, never an error. */
export const modelFailureCodes = [
  'bad_arguments',
  'unknown_tool',
  'budget_spent',
  'too_many_at_once',
  'time_spent',
  'command_timeout',
  'command_out_of_memory',
  'command_not_started',
  'sandbox_broken',
] as const;

export type ModelFailure = (typeof modelFailureCodes)[number];

/**
 * Whether a command may have reached its sandbox: `no` = nothing was sent, `yes` = the sandbox said so,
 * `unknown` = something was sent and nobody could be asked.
 */
export type Admitted = 'yes' | 'no' | 'unknown';
