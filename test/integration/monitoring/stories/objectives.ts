import type { objectiveAlerts } from '#infra/monitoring/rules/alerts/objectives.ts';
import {
  callsFailedByUs,
  completedCalls,
  expiredByCaller,
  lostByUs,
  scorable,
  type Stories,
  suspectedOfCommand,
} from '../story.ts';

const rollouts = (share: string, when: string) =>
  `${share} of fleet lab’s rollouts ${when} (objective: 0.1%)`;
const calls = (share: string, when: string) => `${share} of fleet lab’s tool calls ${when} (objective: 0.1%)`;

export const objectiveStories = {
  RolloutsLostFast: {
    step: '1m',
    fires: [
      {
        when: 'one rollout in twenty is lost for an hour and a half',
        series: { [scorable]: '0+95x90', [lostByUs]: '0+5x90' },
        at: '90m',
        told: { summary: rollouts('5%', 'in the last hour were lost to infrastructure failures') },
      },
      {
        when: 'three rollouts are lost, one in each of three pods, whose counters were there at zero',
        series: {
          [scorable]: '0+2x90',
          [lostByUs]: '0x87 1x3',
          [lostByUs.replace('c1', 'c2')]: '0x86 1x4',
          [lostByUs.replace('c1', 'g1')]: '0x85 1x5',
        },
        at: '90m',
        told: { summary: rollouts('2.439%', 'in the last hour were lost to infrastructure failures') },
      },
    ],
    silent: [
      {
        when: 'one in a hundred is lost, and others end by their callers or by a command of the policy',
        series: {
          [scorable]: '0+78x90',
          [lostByUs]: '0+1x90',
          [expiredByCaller]: '0+20x90',
          [suspectedOfCommand]: '0+21x90',
        },
        at: '90m',
      },
      {
        when: 'two of ten are lost, which is a large share of nothing much',
        series: { [scorable]: '0x60 8x30', [lostByUs]: '0x87 2x3' },
        at: '90m',
      },
    ],
    resolves: [
      {
        when: 'nothing is lost any more for six minutes, although the last hour was bad',
        series: { [scorable]: '0+95x120', [lostByUs]: '0+5x60 300x60' },
        firesAt: '60m',
        goneAt: '66m',
      },
    ],
  },
  RolloutsLostSlow: {
    step: '15m',
    fires: [
      {
        when: 'eight in a thousand are lost for twelve hours',
        series: { [scorable]: '0+992x50', [lostByUs]: '0+8x50' },
        at: '12h',
        told: { summary: rollouts('0.8%', 'have been lost to infrastructure failures for hours') },
      },
      {
        when: 'two in a thousand are lost for four days',
        series: { [scorable]: '0+998x390', [lostByUs]: '0+2x390' },
        at: '96h',
        told: { summary: rollouts('0.2%', 'have been lost to infrastructure failures for hours') },
      },
    ],
    silent: [
      {
        when: 'nine in ten thousand are lost for four days, as was promised',
        series: { [scorable]: '0+9991x390', [lostByUs]: '0+9x390' },
        at: '96h',
      },
    ],
    resolves: [
      {
        when: 'the last six hours are clean',
        series: { [scorable]: '0+992x80', [lostByUs]: '0+8x48 384x32' },
        firesAt: '12h',
        goneAt: '19h',
      },
    ],
  },
  ToolCallsFail: {
    step: '1m',
    fires: [
      {
        when: 'one call in fifty fails by us for an hour and a half',
        series: { [completedCalls]: '0+98x90', [callsFailedByUs]: '0+2x90', [suspectedOfCommand]: '0x90' },
        at: '90m',
        told: { summary: calls('2%', 'in the last hour failed because of the infrastructure') },
      },
    ],
    silent: [
      {
        when: 'one in fifty fails, each in a sandbox that its own command may have ended',
        series: {
          [completedCalls]: '0+98x90',
          [callsFailedByUs]: '0+2x90',
          [suspectedOfCommand]: '0+2x90',
        },
        at: '90m',
      },
      {
        when: 'one in fifty ends by its own timeout, which is the model’s',
        series: {
          [completedCalls]: '0+98x90',
          [callsFailedByUs]: '0x90',
          'corral_calls_settled_total{pod="g1",outcome="timed_out",blame="model",code="command_timeout",environment="shell"}':
            '0+2x90',
        },
        at: '90m',
      },
    ],
    resolves: [
      {
        when: 'calls have gone well for six minutes',
        series: { [completedCalls]: '0+98x120', [callsFailedByUs]: '0+2x60 120x60' },
        firesAt: '60m',
        goneAt: '66m',
      },
    ],
  },
  ToolCallsFailSlowly: {
    step: '15m',
    fires: [
      {
        when: 'seven calls in a thousand fail for twelve hours',
        series: { [completedCalls]: '0+993x50', [callsFailedByUs]: '0+7x50' },
        at: '12h',
        told: { summary: calls('0.7%', 'have failed because of the infrastructure for hours') },
      },
    ],
    silent: [
      {
        when: 'five in ten thousand fail for four days, as was promised',
        series: { [completedCalls]: '0+9995x390', [callsFailedByUs]: '0+5x390' },
        at: '96h',
      },
    ],
    resolves: [
      {
        when: 'the last six hours are clean',
        series: { [completedCalls]: '0+993x80', [callsFailedByUs]: '0+7x48 336x32' },
        firesAt: '12h',
        goneAt: '19h',
      },
    ],
  },
} as const satisfies Readonly<Record<keyof typeof objectiveAlerts, Stories>>;
