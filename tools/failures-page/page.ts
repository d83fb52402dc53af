import { type FailureCode, failureRow, type Retry } from '#src/failure/codes.ts';
import { byPolicy, type ByPolicy, lossByPolicy } from '#src/failure/meanings/by-policy.ts';
import { brokenEvidence } from '#src/failure/meanings/broken-evidence.ts';
import { type UnmarkedWitness, unmarkedWitness } from '#src/failure/meanings/unmarked-witness.ts';
import { lossCauses } from '#src/failure/meanings/loss-causes.ts';
import type { Meaning } from '#src/failure/meanings/meaning.ts';
import { modelFailures, outcomes } from '#src/failure/meanings/models-own.ts';
import { meanings, type Section, sections } from '#src/failure/meanings/sections.ts';
import { table, wrapped } from './markdown.ts';

/** docs/failures.md, whole, from the failure table and the sentences beside it. */
export function failuresPage(): string {
  const parts = [
    '<!-- Written by tools/write-failures-page.ts from src/failure/. Change the sentences there. -->',
    ...head,
    codeTable(),
    ...sections.flatMap(sectionOf),
    ...lossPart(),
    ...policyPart(),
    ...modelPart(),
  ];
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`;
}

const head = [
  '# Failures',
  wrapped(
    'Every failure with its blame, its status on each face, and what to do. One question decides the blame: ' +
      '**could the policy have caused it?** If so it is not a failure but an answer with status `200`, ' +
      '[at the end of this page](#the-models-own-answers-not-failures).',
  ),
  '## From a failure to its cause',
  [
    '1. The error body (on the E2B face the member `error`) has `code`, `blame`, `message`, `admitted` (whether a command may have run), `retryable`, `tainted` and `evidence`.',
    '2. `corral rollout ID` prints the rollout call by call, from any gateway, also when Redis no longer has it; it names missing parts.',
    '3. `corral rollouts --verdict discard --code CODE` lists others with the same code; `corral runs` counts by run.',
    '4. Over time: `corral_gateway_failures_total` by face, blame and code; `corral_verdicts_total` and `corral_calls_settled_total` also by environment.',
  ].join('\n'),
  wrapped(
    'The fleet retries a retryable failure for the whole time of the request (540 s on the RFT face) before it returns it. ' +
      'On the RFT face every failure is a 5xx: the platform retries at most 3 times and then discards the rollout, ' +
      'and would show a 4xx to the model. A retryable 503 has `retry-after`.',
  ),
  '## All codes',
] as const;

function codeTable(): string {
  const rows = sections.flatMap(({ codes }) => codes).map(rowOf);
  return table(['code', 'blame', 'native', 'RFT', 'E2B', 'retryable', 'tainted'], rows);
}

function rowOf(code: FailureCode): readonly string[] {
  const { blame, native, rft, e2b, retry, taints } = failureRow(code);
  return [
    `[\`${code}\`](#${code})`,
    blameOf(code, blame),
    `${native}`,
    `${rft}`,
    `${e2b}`,
    again[retry],
    taints ? 'yes' : '',
  ];
}

/** The one code that is not a failure. */
const blameOf = (code: FailureCode, blame: string) => (code === 'still_running' ? '–' : blame);

const again = { yes: 'yes', later: 'later', no: 'no' } as const satisfies Record<Retry, string>;

const advice = {
  yes: 'retryable',
  later: 'retryable later',
  no: 'final',
} as const satisfies Record<Retry, string>;

function sectionOf({ title, intro, codes }: Section): readonly string[] {
  return [`## ${title}`, wrapped(intro), ...codes.flatMap(codePart)];
}

function codePart(code: FailureCode): readonly string[] {
  const { blame, native, rft, e2b, retry, taints } = failureRow(code);
  const isOneStatus = native === rft && rft === e2b;
  const statuses = isOneStatus ? `${native}` : `native ${native}, RFT ${rft}, E2B ${e2b}`;
  const answers = [statuses, advice[retry], ...(taints ? ['taints the rollout'] : [])];
  const whose = code === 'still_running' ? 'not a failure' : `blame: ${blame}`;
  const { means, evidence, operator } = meanings[code];
  return [
    `### \`${code}\``,
    wrapped(means),
    [
      wrapped(`- **Answered:** ${answers.join(', ')}; ${whose}.`, '  '),
      wrapped(`- **Seen:** ${evidence}`, '  '),
      wrapped(`- **To do:** ${operator}`, '  '),
    ].join('\n'),
  ];
}

function lossPart(): readonly string[] {
  return [
    '## Why a sandbox was lost',
    wrapped(
      'The `cause` of [`sandbox_lost`](#sandbox_lost). A sandbox that is lost before its rollout’s first call is replaced silently.',
    ),
    meaningTable('cause', lossCauses),
  ];
}

function policyPart(): readonly string[] {
  return [
    '## Could the policy do it alone?',
    wrapped(
      'A policy that can have its bad rollouts discarded need not learn anything else. So for each failure: could the policy cause it alone, by what it calls, runs or answers? A yes becomes an answer with `200`, so this table has only the rest.',
    ),
    wrapped(
      '“Marked”: it cannot be ruled out, so the discard is marked `suspected` and counted; a rising share in one environment is a policy that learns it. “By a setting”: only if a setting of the environment, the trainer or the operator allows it.',
    ),
    table(['code', 'alone', 'why'], Object.entries(byPolicy).map(policyRow)),
    wrapped('Of a lost sandbox, by its cause:'),
    table(['cause', 'alone', 'why'], Object.entries(lossByPolicy).map(policyRow)),
    '### Witness of a discard without a mark',
    wrapped(
      'A discard without a mark needs a witness that no policy can influence. If no such witness exists, every such discard is marked.',
    ),
    table(
      ['cause or code', 'witness of a discard without a mark'],
      Object.entries(unmarkedWitness).map(witnessRow),
    ),
    '### Evidence that the policy broke its sandbox',
    wrapped(
      'A failure of the sandbox’s own side is worth a score only if evidence shows that the policy caused it and no fault of the machine did. Otherwise it is a discard, marked.',
    ),
    table(
      ['what failed', 'worth a score if', 'a discard if'],
      brokenEvidence.map(({ what, counts, otherwise }) => [what, counts, otherwise]),
    ),
    wrapped(
      'No sandbox is tried for comparison. So two faults can count as the policy’s: a template with too little memory for its own grader, which `corral preflight` shows; and, if commands have sandboxd’s id, a person or program of the machine that kills sandboxd. A grader’s own exit and timeout are worth what `on_exit` and `on_timeout` say, on a slow disk, too.',
    ),
  ];
}

const witnessRow = ([name, witness]: [string, UnmarkedWitness]) => [
  `\`${name}\``,
  witness ?? 'none: always marked',
];

const policyRow = ([name, { alone, why }]: [string, ByPolicy]) => [`\`${name}\``, answered[alone], why];

const answered = {
  no: 'no',
  marked: 'marked',
  setting: 'by a setting',
} as const satisfies Record<ByPolicy['alone'], string>;

function modelPart(): readonly string[] {
  return [
    '## The model’s own: answers, not failures',
    wrapped(
      'On every face these are answers with status `200`, except `infrastructure_failure`, which appears only in lists. Every call settles once, with one of these outcomes:',
    ),
    table(
      ['outcome', 'what happened'],
      Object.entries(outcomes).map(([outcome, means]) => [`\`${outcome}\``, means]),
    ),
    wrapped('For a mistake of the model beyond an exit code, `code` says which:'),
    meaningTable('code', modelFailures),
  ];
}

function meaningTable(what: string, told: Readonly<Record<string, Meaning>>): string {
  const rows = Object.entries(told).map(([name, { means, evidence, operator }]) => [
    `\`${name}\``,
    means,
    evidence,
    operator,
  ]);
  return table([what, 'what happened', 'seen', 'to do'], rows);
}
