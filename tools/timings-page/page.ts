import { timingNames, timingRelations, timingTable } from '#src/model/timings.ts';
import { table, wrapped } from '../failures-page/markdown.ts';

/** docs/timings.md, whole: how long a fleet waits, and what must hold between these durations. */
export function timingsPage(): string {
  return `${[
    '<!-- Written by tools/write-timings-page.ts from src/model/timings.ts. Change it there. -->',
    '# Timings',
    ...introduction.map((paragraph) => wrapped(paragraph)),
    '## Patience',
    'If one is shorter, a request ends sooner with a retryable failure, or less is kept for repeats.',
    tableOf('patience'),
    '## Detection',
    'Each decides that something is lost. The shortest value is 5 s, because a busy machine would look broken otherwise.',
    tableOf('detection'),
    '## Change the timings of a running fleet',
    ...change.map((paragraph) => wrapped(paragraph)),
    '## Who waits for whom',
    ...chains.map((paragraph) => wrapped(paragraph)),
    table(['who waits', 'for', 'how long', 'the other party ends'], waits),
    '## Relations',
    'Gateways and controllers check them when they start.',
    table(
      ['rule', 'because'],
      timingRelations.map(({ rule, because }) => [`\`${rule}\``, because]),
    ),
  ].join('\n\n')}\n`;
}

const introduction = [
  'The defaults are for production. To change some of them, set `CORRAL_TIMINGS` to JSON with milliseconds by name, such as ' +
    '`{"requestHoldMs": 300000}`. Set the same value for every gateway and every controller of a fleet.',
];

const change = [
  'Each process reports its timings to fleet state in Redis every 2 s. One that starts with other timings than a running process of its ' +
    'release is not ready: `/readyz` names the durations that differ, and so do `corral doctor` and its log. A process that was ready once ' +
    'stays ready, so the fleet keeps serving while you correct the new one.',
  'To change the timings, add the member `replaces`: the timings from which the fleet is being changed, in the same form, `{}` for the ' +
    'defaults. `{"requestHoldMs": 300000, "replaces": {}}` becomes ready next to processes with the defaults, and these may still be ' +
    'restarted, or come back with a rollback. Replace all gateways and controllers. Then remove `replaces`, which needs no restart of its own.',
  'Processes of another release are not compared. A process that was killed counts for 10 s after its last report.',
];

const chains = [
  'A wait that is only too short must not look like a failure of the party that was waited for. So each request to a sandbox and to a judge ' +
    'says in `x-corral-remaining-ms` for how long its answer is waited for, and transfers of files end up to 5 s before, with the name of what ' +
    'took so long. No command and no grader is cut short by it: its own timeout is part of the task. A party of the previous release neither ' +
    'sends nor reads the header, and keeps its own limits.',
];

const waits: readonly (readonly string[])[] = [
  [
    'a trainer',
    'a gateway',
    '`requestHoldMs` on the RFT face, `wait_s`, or the timeout that an E2B client sends',
    'the work goes on, and a repeat attaches to it',
  ],
  [
    'a gateway',
    'a command in a sandbox',
    'the command’s timeout and pauses, and `settleGraceMs`; longer while sandboxd says that it runs',
    'at the command’s own timeout, an answer of the model',
  ],
  [
    'a gateway',
    'a grader in a sandbox',
    'the grader’s timeout and pauses, and 60 s for its files and its score',
    'within 55 s of these 60 s; the grader keeps its whole timeout',
  ],
  [
    'a gateway',
    'files of a sandbox: uploads, downloads, artifacts, changes, files for judges',
    '5 to 10 min, or what the turn of the grader has left',
    'before that, as `ETIMEDOUT`. In a grading this is `grader_failed`, marked; for a caller `sandboxd_unreachable`',
  ],
  [
    'a gateway',
    'a judge',
    'its `timeout` for each try, or what the turn has left',
    'not known. If the turn had less time than the judge may take, its failure is marked',
  ],
  [
    'a controller',
    'a sandbox that starts',
    'the template’s start timeout',
    'its probe after 20 s. `start_timeout` is the controller’s own word, with the step',
  ],
  [
    'a controller',
    'node, or the API server',
    '10 s and more for an answer',
    '`provider_unavailable`: repeated by the sandbox’s name, and no word about the sandbox',
  ],
];

function tableOf(wanted: 'patience' | 'detection'): string {
  const names = timingNames.filter((name) => timingTable[name].kind === wanted);
  return table(
    ['name', 'default', 'what'],
    names.map((name) => [`\`${name}\``, `${timingTable[name].ms / 1_000} s`, timingTable[name].what]),
  );
}
