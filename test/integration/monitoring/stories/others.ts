import type { othersAlerts } from '#infra/monitoring/rules/alerts/others.ts';
import { completedCalls, lostByUs, scorable, type Stories, suspectedOfCommand } from '../story.ts';

const modelsCalls = (code: string) =>
  `corral_calls_settled_total{pod="g1",outcome="refused",blame="model",code="${code}",environment="shell"}`;
const brokenCalls =
  'corral_calls_settled_total{pod="g1",outcome="completed",blame="model",code="sandbox_broken",environment="shell"}';
const callersFailed = (code: string) =>
  `corral_gateway_failures_total{pod="g1",face="rft",blame="caller",code="${code}"}`;
const scores = 'corral_scores_total{pod="g1",environment="shell"}';
const gained = 'corral_score_points_total{pod="g1",environment="shell",sign="positive"}';
const neverLost = {
  'corral_score_points_total{pod="g1",environment="shell",sign="negative"}': '0x240',
  'corral_scores_voided_total{pod="g1",environment="shell"}': '0x240',
};
const expiry = (key: string, pod = 'g1') => `corral_key_expiry_timestamp_seconds{pod="${pod}",key="${key}"}`;
const day = 86_400;

const broke = (share: string) =>
  `${share} of environment shell (fleet lab) ends with a sandbox that the policy broke, or may have broken`;

const reports = (backend: string) =>
  `corral_backend_reports_total{pod="g1",backend="${backend}",environment="shell"}`;
const suspectedOfDependency =
  'corral_verdicts_total{pod="g1",verdict="discard",blame="infrastructure",code="dependency_failed",environment="shell",suspected="dependency"}';
const doubted = (share: string) =>
  `${share} of environment shell (fleet lab) reports a failed backend, and probes do not confirm it`;

export const othersStories = {
  PolicyBreaksSandboxes: {
    step: '1m',
    fires: [
      {
        when: 'one rollout in ten is discarded with a command under suspicion',
        series: { [scorable]: '0+9x90', [suspectedOfCommand]: '0+1x90' },
        at: '70m',
        told: { labels: { environment: 'shell' }, summary: broke('10%') },
      },
      {
        when: 'one call in twenty meets a sandbox that a command has broken',
        series: { [completedCalls]: '0+19x90', [brokenCalls]: '0+1x90' },
        at: '70m',
        told: { labels: { environment: 'shell' }, summary: broke('5%') },
      },
    ],
    silent: [
      {
        when: 'one in a hundred is suspected, and one in ten is lost by us',
        series: { [scorable]: '0+89x90', [suspectedOfCommand]: '0+1x90', [lostByUs]: '0+10x90' },
        at: '70m',
      },
      {
        when: 'two of ten are suspected, which is nobody’s habit yet',
        series: { [scorable]: '0x30 8x60', [suspectedOfCommand]: '0x30 2x60' },
        at: '70m',
      },
    ],
    resolves: [
      {
        when: 'an hour has passed without another',
        series: { [scorable]: '0+9x130', [suspectedOfCommand]: '0+1x30 30x100' },
        firesAt: '30m',
        goneAt: '95m',
      },
    ],
  },
  BackendReportsDoubted: {
    step: '1m',
    fires: [
      {
        when: 'one call in twenty reports a failed backend that is good',
        series: { [completedCalls]: '0+20x90', [reports('good')]: '0+1x90' },
        at: '70m',
        told: { labels: { environment: 'shell' }, summary: doubted('5%') },
      },
      {
        when: 'one rollout in ten is discarded with its use of a backend under suspicion',
        series: { [scorable]: '0+9x90', [suspectedOfDependency]: '0+1x90' },
        at: '70m',
        told: { labels: { environment: 'shell' }, summary: doubted('10%') },
      },
    ],
    silent: [
      {
        when: 'every tenth call reports a backend that probes see failing',
        series: { [completedCalls]: '0+9x90', [reports('failed')]: '0+1x90' },
        at: '70m',
      },
    ],
    resolves: [
      {
        when: 'an hour has passed without another',
        series: { [completedCalls]: '0+20x130', [reports('good')]: '0+1x30 30x100' },
        firesAt: '30m',
        goneAt: '95m',
      },
    ],
  },
  RewardJumps: {
    step: '1m',
    fires: [
      {
        when: 'a mean of 0.5 is 1 from one step on',
        series: { [scores]: '0+4x140', ...neverLost, [gained]: '0+2x100 204+4x39' },
        at: '120m',
        told: {
          labels: { environment: 'shell' },
          summary: 'The mean reward of environment shell (fleet lab) jumped by 0.42',
        },
      },
    ],
    silent: [
      {
        when: 'a policy learns within hours',
        series: { [scores]: '0+4x240', ...neverLost, [gained]: '0+2x120 243+3x119' },
        at: '180m',
      },
      {
        when: 'a few scores are high',
        series: { [scores]: '0+1x140', ...neverLost, [gained]: '0+0.5x100 51+1x39' },
        at: '110m',
      },
    ],
    resolves: [
      {
        when: 'the mean is what it was',
        series: { [scores]: '0+4x200', ...neverLost, [gained]: '0+2x100 204+4x19 282+2x79' },
        firesAt: '118m',
        goneAt: '140m',
      },
    ],
  },
  ModelCannotUseTools: {
    step: '1m',
    fires: [
      {
        when: 'two calls in five have wrong arguments or name no tool',
        series: {
          [completedCalls]: '0+6x50',
          [modelsCalls('bad_arguments')]: '0+3x50',
          [modelsCalls('unknown_tool')]: '0+1x50',
        },
        at: '40m',
        told: {
          labels: { environment: 'shell' },
          summary: '40% of the calls in environment shell (fleet lab) were nonsense to its tools',
        },
      },
    ],
    silent: [
      {
        when: 'one in four has, and others spend their budget',
        series: {
          [completedCalls]: '0+1x50',
          [modelsCalls('bad_arguments')]: '0+1x50',
          [modelsCalls('budget_spent')]: '0+2x50',
        },
        at: '40m',
      },
      {
        when: 'eight of ten have, the first that a new environment has seen',
        series: { [completedCalls]: '0x20 2x30', [modelsCalls('bad_arguments')]: '0x20 8x30' },
        at: '30m',
      },
    ],
    resolves: [
      {
        when: 'the tool’s description was fixed half an hour ago',
        series: { [completedCalls]: '0+6x90', [modelsCalls('bad_arguments')]: '0+4x30 120x60' },
        firesAt: '30m',
        goneAt: '62m',
      },
    ],
  },
  CallersMistaken: {
    fires: [
      {
        when: 'a job has a key that is not valid',
        series: { [callersFailed('unauthorized')]: '0x10 0+3x10 30x20' },
        at: '11m',
        told: {
          labels: { code: 'unauthorized' },
          summary: 'A training job’s requests to fleet lab are refused: 30 times unauthorized',
        },
      },
    ],
    silent: [
      {
        when: 'fifteen requests are refused for each of two reasons',
        series: {
          [callersFailed('unauthorized')]: '0x10 15x20',
          [callersFailed('item_missing')]: '0x10 15x20',
        },
        at: '11m',
      },
    ],
    resolves: [
      {
        when: 'the job was stopped ten minutes ago',
        series: { [callersFailed('unknown_environment')]: '0x4 0+10x10 100x40' },
        firesAt: '8m',
        goneAt: '18m',
      },
    ],
  },
  KeyExpires: {
    fires: [
      {
        when: 'one key of two ends in six days, told by two gateways',
        series: {
          [expiry('nightly')]: `${6 * day + 60}x10`,
          [expiry('nightly', 'g2')]: `${6 * day + 60}x10`,
          [expiry('weekly')]: `${60 * day}x10`,
        },
        at: '1m',
        told: { labels: { key: 'nightly' }, summary: 'API key nightly of fleet lab ends in 6d 0h 0m 0s' },
      },
    ],
    silent: [
      {
        when: 'it ends in eight days',
        series: { [expiry('nightly')]: `${8 * day}x10` },
        at: '1m',
      },
    ],
    resolves: [
      {
        when: 'it was replaced',
        series: { [expiry('nightly')]: '3600x4 stale', [expiry('nightly-2')]: `_x4 ${90 * day}x10` },
        firesAt: '1m',
        goneAt: '3m',
      },
    ],
  },
} as const satisfies Readonly<Record<keyof typeof othersAlerts, Stories>>;
