/** Every transition and every reading of fleet state, one round trip each, by the file of `scripts/` that it stands in. */
export const scripts = {
  aliases: ['name-image', 'named-image'],
  calls: [
    'admit',
    'settle',
    'withdraw-call',
    'unsent-call',
    'overdue-calls',
    'lookup-call',
    'list-calls',
    'read-transcript',
  ],
  claim: ['claim'],
  environments: [
    'publish-environment',
    'load-environment',
    'list-environments',
    'versions-beginning',
    'pin-version',
    'publish-catalog',
    'load-catalog',
    'hold-catalog',
  ],
  grading: [
    'begin-grade',
    'store-score',
    'fail-grade',
    'discard-rollout',
    'artifacts-taken',
    'release-grader',
  ],
  launching: ['keep-plan', 'demand', 'look-at', 'reserve', 'ready', 'launch-failed', 'overdue-launches'],
  recovery: ['adopt', 'adopted-at', 'read-kept', 'mark-lost', 'restore-sandbox', 'restore-rollout'],
  reports: ['report-run', 'report-groups', 'list-rollouts', 'list-runs', 'list-cost'],
  rollouts: [
    'find',
    'read-row',
    'heartbeat',
    'close',
    'expire-due',
    'keep-contact',
    'renew-run',
    'close-run',
    'lapsed-runs',
    'release-lapsed',
  ],
  sandboxes: [
    'known-sandboxes',
    'moved-sandboxes',
    'take-errands',
    'draining',
    'forget',
    'withdraw-sandbox',
    'lose',
  ],
  templates: ['announce', 'choose', 'list-chosen', 'counts', 'known-templates', 'retire'],
  waiting: ['renew', 'swap', 'take-back-grants'],
  watch: ['watch', 'tell-presence', 'tell-event-log', 'list-event-logs'],
} as const;

export const scriptNames = Object.values(scripts).flat();

export type ScriptName = (typeof scripts)[keyof typeof scripts][number];
