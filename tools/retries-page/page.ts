import { type Retried, retryPolicies, type RetryPolicy } from '#src/waiting/retry-policies.ts';
import { table, wrapped } from '../failures-page/markdown.ts';
import { type Elsewhere, elsewhere, type Part } from './elsewhere.ts';

/** The whole docs/retries.md: the table of retries, and the retries outside its loop. */
export function retriesPage(): string {
  return `${[
    '<!-- Written by tools/write-retries-page.ts from src/waiting/retry-policies.ts and tools/retries-page/. Change it there. -->',
    '# Retries',
    ...introduction.map((paragraph) => wrapped(paragraph)),
    ...parts.flatMap(({ part, title }) => [`## ${title}`, tableOf(part)]),
  ].join('\n\n')}\n`;
}

const introduction = [
  'A request is held while a retry may help, because three quick refusals lose a rollout. Each row retries in one place only: no row waits for another row inside it, ' +
    'and what one gives up is not started again by the row around it. A started exchange or grading continues without its request, with rows of its own. ' +
    'Every repeat has an id, so it happens once.',
  'Gateways and controllers retry by one table, `src/waiting/retry-policies.ts`, which has the reason next to each number, and one loop, ' +
    '`src/waiting/retries.ts`. No try begins without time left. A pause is as long as here or up to half shorter, by chance, so that failed requests do not return together.',
];

const parts: readonly { readonly part: Part; readonly title: string }[] = [
  { part: 'request', title: 'For a request' },
  { part: 'call', title: 'For an admitted call' },
  { part: 'grade', title: 'For a started grade' },
  { part: 'client', title: 'In the Python and TypeScript clients' },
  { part: 'fleet', title: 'For the fleet' },
];

/** Where the page tells of each row. */
const partOf: Readonly<Record<Retried, Part>> = {
  request: 'request',
  opening: 'request',
  fileAdmission: 'request',
  anotherSandbox: 'request',
  bind: 'request',
  sentCall: 'call',
  followedCall: 'call',
  stdinPiece: 'call',
  unsentCall: 'call',
  storedAnswer: 'call',
  fileEnd: 'call',
  overdueCall: 'call',
  gradingStep: 'grade',
  graderConnection: 'grade',
  graderWithoutRoom: 'grade',
  policysFiles: 'grade',
  graderSandbox: 'grade',
  graderSilence: 'grade',
  forgottenTurn: 'grade',
  judge: 'grade',
  trajectory: 'fleet',
  creation: 'fleet',
  firstAnswer: 'fleet',
  recoveredSandbox: 'fleet',
  fleetState: 'fleet',
  lostRequest: 'fleet',
  redisConnection: 'fleet',
  clusterWatch: 'fleet',
  nodeWatch: 'fleet',
};

function tableOf(part: Part): string {
  const ours = Object.entries(retryPolicies)
    .filter(([name]) => partOf[name as Retried] === part)
    .map(([, policy]) => rowOf(policy));
  const others = elsewhere.filter((one) => one.part === part);
  const head = ['what', 'failures', 'how often', 'how long', 'source'];
  return table(head, [...ours, ...others.map(rowElsewhere)]);
}

function rowOf(policy: RetryPolicy): readonly string[] {
  const { what, on, until, by } = policy;
  return [what, on, oftenIn(policy), until, filesOf(by)];
}

const rowElsewhere = ({ what, on, often, until, by }: Elsewhere): readonly string[] => [
  what,
  on,
  often,
  until,
  filesOf(by),
];

const filesOf = (files: readonly string[]) => files.map((file) => `\`${file}\``).join(', ');

function oftenIn({ mostTries, pauses: { firstMs, factor, longestMs } }: RetryPolicy): string {
  const times = Number.isFinite(mostTries) ? [`${mostTries} times in all`] : [];
  if (longestMs === 0) return [...times, 'at once'].join(', ');
  const pauses =
    factor === 1
      ? `after ${duration(firstMs)}`
      : `after ${duration(firstMs)}, then × ${factor} up to ${duration(longestMs)}`;
  return [...times, pauses].join(', ');
}

/** Seconds as soon as it is one. */
export function duration(ms: number): string {
  return ms < 1_000 ? `${ms} ms` : `${ms / 1_000} s`;
}
