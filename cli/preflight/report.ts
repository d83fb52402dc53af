import { duration } from '../print/amounts.ts';
import { table } from '../print/table.ts';
import type { TrainingJob } from '../proving/training-job.ts';
import type { Check } from './check.ts';
import type { Egress } from './egress/check-egress.ts';

export type PreflightReport = {
  readonly url: string;
  readonly ok: boolean;
  readonly checks: readonly Check[];
  /** By environment name: what a sandbox reaches; null where it could not be tried. */
  readonly egress: Readonly<Record<string, Egress | null>>;
  /** By environment name. */
  readonly jobs: Readonly<Record<string, TrainingJob>>;
};

export function describePreflight({ url, ok, checks, jobs }: PreflightReport, width: number): string {
  const lines = table(
    checks,
    [
      { title: '', of: (check) => (check.ok ? 'ok' : 'NOT OK') },
      { title: 'environment', of: ({ environment }) => environment },
      { title: 'tried', of: ({ what }) => what },
      { title: 'took', of: ({ tookMs }) => duration(tookMs), right: true },
      { title: 'seen', of: ({ detail }) => detail },
    ],
    // A failure is printed in full, however narrow the window.
    ok ? width : Infinity,
  );
  const failed = checks.filter((check) => !check.ok).length;
  const verb = failed === 1 ? 'is' : 'are';
  const verdict = ok ? 'Everything is in order.' : `${failed} of ${checks.length} ${verb} not in order.`;
  return [`preflight of ${url}`, '', lines, '', ...Object.entries(jobs).map(describeJob), verdict].join('\n');
}

function describeJob([environment, { tools, grader }]: readonly [string, TrainingJob]): string {
  const job = `For a training job that uses ${environment}:\n${JSON.stringify({ tools, grader }, null, 2)}\n`;
  if (grader !== null) return job;
  const lead = `Harbor 0.26 with -e e2b grades trials that lost a gateway, unless its job sets:`;
  return `${job}\n${lead}\n${JSON.stringify(harborErrors, null, 2)}\n`;
}

const notGraded = { should_grade: false, has_valid_reward: false } as const;

/**
 * What a job of Harbor 0.26 must set if its trials use E2B's wire: it grades after every exception that it does not know, and the SDK
 * raises these if a gateway refuses a connection. With several gateways the fleet does not see that.
 */
const harborErrors = {
  override_error_policy: {
    // No gateway answered the SDK's next question either, whether the sandbox runs.
    SandboxUnreachableException: notGraded,
    // Another gateway answered it, so the first error is raised as it is: for commands by connectrpc, for files by httpx.
    ConnectError: notGraded,
    ConnectTimeout: notGraded,
    // It broke a connection before it had read the request.
    ReadError: notGraded,
    WriteError: notGraded,
    RemoteProtocolError: notGraded,
  },
} as const;
