import type { ModelFailure, Outcome } from '#src/model/outcome.ts';
import type { Meaning } from './meaning.ts';

/** What happened to a tool call, in a sentence. */
export const outcomes = {
  completed: 'The command ran to its own end, whatever its exit code, or took its sandbox down with it.',
  timed_out:
    'It ran until its own timeout, and its whole process tree was killed. The answer has what it printed.',
  refused: 'Nothing ran, because of the model’s own mistake.',
  infrastructure_failure:
    'It was dispatched, then the infrastructure failed: never a 200, and the rollout is tainted.',
  cancelled: 'The trainer stopped it.',
} as const satisfies Record<Outcome, string>;

/** What a policy can do wrong; every one is an answer, and says something about the policy. */
export const modelFailures = {
  bad_arguments: {
    means:
      'The arguments are not JSON, too long, too deep, or do not match the tool’s parameters. Nothing ran.',
    evidence: '`texts.bad_arguments` tells the model which field.',
    operator: 'A high share means a tool whose description misleads: the environment’s author rewrites it.',
  },
  unknown_tool: {
    means:
      'The model called a tool that does not exist. Nothing ran. (If the address names the tool, the job made the mistake: `tool_not_configured`.)',
    evidence: '`texts.unknown_tool` lists the tools for the model.',
    operator: 'Give the trainer the tools’ JSON of `GET /v1/environments/{name}/tools`.',
  },
  budget_spent: {
    means: 'All of `limits.tool_calls` are used. Nothing ran; the grader still runs.',
    evidence: '`texts.budget_spent` tells the model to answer now.',
    operator: 'Nothing; or a larger budget.',
  },
  too_many_at_once: {
    means:
      'The model made this call while 48 other calls of its rollout were running, which is the maximum. Nothing ran; the call counts toward the budget.',
    evidence: '`texts.too_many_at_once` tells the model to wait for the others.',
    operator:
      'Nothing. Without this limit, calls that wait for each other would run out of time, and a policy could discard its rollouts at will.',
  },
  time_spent: {
    means:
      'The rollout’s time, `limits.rollout`, was over when the call was made, or while it waited for other calls of its rollout. Nothing ran; the sandbox stays for the grade.',
    evidence: '`texts.time_spent` tells the model to answer now.',
    operator: 'Nothing; or more time. Discarding slow rollouts instead would bias the sample.',
  },
  command_timeout: {
    means: 'The command reached its timeout. Time that it waited for the fleet never counts.',
    evidence: '`timed_out`, the partial output, `duration_ms`.',
    operator: 'Nothing; or a longer `timeout` of the tool.',
  },
  command_out_of_memory: {
    means:
      'The kernel killed a process of the command for memory; the sandbox continues. (Exit code 137 alone proves nothing.)',
    evidence: '`oom_killed`, from the sandbox’s own cgroup events while the command ran.',
    operator: 'Nothing; or a higher memory `limit`.',
  },
  command_not_started: {
    means: 'The command could not be started: its folder does not exist, or its arguments are too long.',
    evidence: '`texts.not_started` tells the model the reason.',
    operator:
      'Nothing. A missing program is exit code 127 of a completed call, and one that is not executable is 126.',
  },
  sandbox_broken: {
    means:
      'A command demonstrably took down the whole sandbox. This call and every later one get an answer, and the rollout is graded: breaking the sandbox is not a way out of a low score.',
    evidence:
      '`texts.broke_sandbox`, then `texts.sandbox_broken`; the loss is reported with the effect `broken`.',
    operator:
      'Nothing for single cases. If the share rises in one environment, a policy is learning it, or its limits are too low.',
  },
} as const satisfies Record<ModelFailure, Meaning>;
