import { meanRewardOf, scoredIn } from '../recorded.ts';
import { type Alert, countOf, type Duration, of, sumOf } from '../rule.ts';

/* Failures outside the infrastructure. They go to the people who can fix them, never to the on-call engineer. */

const settled = (where = '') => of('corral_calls_settled_total', where);

/** Share of something in each environment, where there was enough of it to speak of a share. */
function share(some: string, all: string, window: Duration, above: number, least: number): string {
  const rate = (selector: string) => sumOf('rate', selector, window, 'environment');
  return `(${rate(some)} / (${rate(all)} > 0) > ${above} and ${countOf(some, window, 'environment')} >= ${least})`;
}

const suspected = share(
  of('corral_verdicts_total', 'suspected="command"'),
  of('corral_verdicts_total'),
  '1h',
  0.02,
  3,
);
const broken = share(settled('code="sandbox_broken"'), settled(), '1h', 0.02, 3);

const reported = share(of('corral_backend_reports_total', 'backend="good"'), settled(), '1h', 0.02, 3);
const doubted = share(
  of('corral_verdicts_total', 'suspected="dependency"'),
  of('corral_verdicts_total'),
  '1h',
  0.02,
  3,
);

const expiry = of('corral_key_expiry_timestamp_seconds');
const daySeconds = 86_400;
const untilExpiry = `min by (namespace, fleet, key) (${expiry}) - time()`;

export const othersAlerts = {
  PolicyBreaksSandboxes: {
    severity: 'info',
    blame: 'model',
    expr: `${suspected} or ${broken}`,
    for: '5m',
    when: 'within 1 h more than 2 % of an environment’s rollouts were discarded with `suspected: command`, or more than 2 % of its calls were `sandbox_broken`, and at least 3',
    summary:
      '{{ $value | humanizePercentage }} of environment {{ $labels.environment }} (fleet {{ $labels.fleet }}) ends with a sandbox that the policy broke, or may have broken',
    description:
      'The policy’s commands end its own sandbox: they use all memory or disk, or kill its processes. This does not page.',
  },
  BackendReportsDoubted: {
    severity: 'info',
    blame: 'model',
    expr: `${reported} or ${doubted}`,
    for: '5m',
    when: 'within 1 h more than 2 % of an environment’s calls reported a failed backend that probes found good, or more than 2 % of its rollouts were discarded with `suspected: dependency`, and at least 3',
    summary:
      '{{ $value | humanizePercentage }} of environment {{ $labels.environment }} (fleet {{ $labels.fleet }}) reports a failed backend, and probes do not confirm it',
    description:
      'Tools end with the exit code of their `dependency` while its backend answers probes, or one run makes most of the calls of a backend that fails. A policy may be imitating that exit code, or overloading the backend.',
  },
  RewardJumps: {
    severity: 'warning',
    blame: 'model',
    expr: `(${meanRewardOf('15m')}) - (${meanRewardOf('6h')}) > 0.3 and ${scoredIn('15m')} >= 20`,
    for: '0s',
    when: 'the mean reward of an environment over 15 min is more than 0.3 above its mean over 6 h, with at least 20 scores',
    summary:
      'The mean reward of environment {{ $labels.environment }} (fleet {{ $labels.fleet }}) jumped by {{ printf "%.2f" $value }}',
    description:
      'The policy learned, or it found a hole in the grader or flatters the judge. No score is changed for it. Read some rollouts with high scores.',
  },
  ModelCannotUseTools: {
    severity: 'info',
    blame: 'model',
    expr: share(settled('code=~"bad_arguments|unknown_tool"'), settled(), '30m', 0.3, 20),
    for: '5m',
    when: 'within 30 min more than 30 % of an environment’s calls had wrong arguments or named no tool, and at least 20',
    summary:
      '{{ $value | humanizePercentage }} of the calls in environment {{ $labels.environment }} (fleet {{ $labels.fleet }}) were nonsense to its tools',
    description:
      'The model does not know how to call the tools. Check their description, the chat template and the parser of tool calls.',
  },
  CallersMistaken: {
    severity: 'warning',
    blame: 'caller',
    expr: `${countOf(of('corral_gateway_failures_total', 'blame="caller"'), '10m', 'code')} > 20`,
    for: '0s',
    when: 'more than 20 requests failed for one reason of the callers’ within 10 min',
    summary:
      'A training job’s requests to fleet {{ $labels.fleet }} are refused: {{ $value }} times {{ $labels.code }}',
    description:
      'A job has a wrong key, address, environment or dataset row. Repeats do not help; its rollouts fail until its owner fixes it.',
  },
  KeyExpires: {
    severity: 'warning',
    blame: 'caller',
    // One that ended more than a day ago has ended with its job.
    expr: `${untilExpiry} < ${7 * daySeconds} and ${untilExpiry} > -${daySeconds}`,
    for: '0s',
    when: 'an API key ends within 7 days, or has ended within the last',
    summary: 'API key {{ $labels.key }} of fleet {{ $labels.fleet }} ends in {{ $value | humanizeDuration }}',
    description: 'After that, every request with this key is `unauthorized`, and the job that uses it stops.',
  },
} as const satisfies Readonly<Record<string, Alert>>;
