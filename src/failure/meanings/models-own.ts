import type { ModelFailure, Outcome } from '#src/model/outcome.ts';
import type { Meaning } from './meaning.ts';

/** What happened to a tool call, in a sentence. */
export const outcomes = {
  completed: 'The command ran to its own end, whatever its exit code, or took its sandbox down with it.',
  timed_out: 'It ran until its own timeout, and its whole tree was killed. What it had printed is given.',
  refused: 'Nothing ran, by the model’s own doing.',
  infrastructure_failure: 'It was dispatched, and then we failed: never a 200, and the rollout is tainted.',
  cancelled: 'The trainer stopped it.',
} as const satisfies Record<Outcome, string>;

/** What a policy can do wrong; every one is an answer, and says something about the policy. */
export const modelFailures = {
  bad_arguments: {
    means:
      'The arguments are not JSON, too long, too deep, or not what the tool’s parameters say. Nothing ran.',
    evidence: '`texts.bad_arguments` tells the model which field.',
    operator: 'A high share means a tool whose description misleads: the environment’s author rewrites it.',
  },
  unknown_tool: {
    means:
      'The model called a tool that there is not. Nothing ran. (Where an address names the tool, the job does: `tool_not_configured`.)',
    evidence: '`texts.unknown_tool` tells the model which there are.',
    operator: 'Give the trainer the tools’ JSON of `GET /v1/environments/{name}/tools`.',
  },
  budget_spent: {
    means: 'All of `limits.tool_calls` are used. Nothing ran; the grade still does.',
    evidence: '`texts.budget_spent` tells the model to answer now.',
    operator: 'Nothing; or a larger budget.',
  },
  too_many_at_once: {
    means:
      'The model made this call while 48 others of its rollout ran: more than a sandbox works on at once. Nothing ran; it counts toward the budget.',
    evidence: '`texts.too_many_at_once` tells the model to wait for the others.',
    operator:
      'Nothing. Without a bound, calls that wait for one another would run out of time with us, and the rollout would be discarded at the policy’s will.',
  },
  time_spent: {
    means:
      'The rollout’s time, `limits.rollout`, was over when the call was made, or while it waited for other calls of its rollout. Nothing ran; the sandbox stays for the grade.',
    evidence: '`texts.time_spent` tells the model to answer now.',
    operator: 'Nothing; or more time. Cutting slow rollouts off instead would bias the sample.',
  },
  command_timeout: {
    means: 'The command ran into its timeout. Time that it waited for us is never counted.',
    evidence: '`timed_out`, the partial output, `duration_ms`.',
    operator: 'Nothing; or a longer `timeout` of the tool.',
  },
  command_out_of_memory: {
    means:
      'The kernel killed a process of the command for memory; the sandbox lives. (Exit code 137 alone proves nothing.)',
    evidence: '`oom_killed`, from the sandbox’s own cgroup events while the command ran.',
    operator: 'Nothing; or a higher memory `limit`.',
  },
  command_not_started: {
    means: 'The program could not be run at all: it is not there, or not executable.',
    evidence: '`texts.not_started` tells the model the reason.',
    operator: 'Of a command that the environment’s author chose: it is missing in the image.',
  },
  sandbox_broken: {
    means:
      'The evidence says that a command took the whole sandbox down. This call and every later one are answered, and the rollout is graded: breaking the machine is no way out of a low score.',
    evidence:
      '`texts.broke_sandbox`, then `texts.sandbox_broken`; the loss is told with the effect `broken`.',
    operator:
      'Nothing for single ones. A rising share in one environment: a policy learns it, or its limits are too tight.',
  },
} as const satisfies Record<ModelFailure, Meaning>;
