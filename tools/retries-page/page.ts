import { type Retried, retryPolicies, type RetryPolicy } from '#src/waiting/retry-policies.ts';
import { table, wrapped } from '../failures-page/markdown.ts';
import { type Elsewhere, elsewhere, type Part } from './elsewhere.ts';

/** The whole docs/retries.md: the table of retries, and the retries outside its loop. */
export function retriesPage(): string {
  return `${[
    '<!-- Written by tools/write-retries-page.ts from src/waiting/retry-policies.ts and tools/retries-page/. Change it there. -->',
    '# What is tried again, how long, by whom',
    ...introduction.map((paragraph) => wrapped(paragraph)),
    ...parts.flatMap(({ part, title }) => [`## ${title}`, tableOf(part)]),
  ].join('\n\n')}\n`;
}

const introduction = [
  'A request is held while trying again may help, because three quick refusals lose a rollout. One wait stands around each ' +
    'request, and what it waits for is tried in one place each: no row waits out the trouble of another row inside it, and what ' +
    'one has given up is not begun again by the one around it. What a request has begun, the exchange of a call or a grading, goes on ' +
    'without it, with rows of its own. Everything that is sent again is known by an id, so that it happens once.',
  'What gateways and controllers try again is a table with a row each, `src/waiting/retry-policies.ts`, which has the reason ' +
    'next to each number, and one loop, `src/waiting/retries.ts`. No try begins without time left. A pause is as long as this ' +
    'page says or up to half shorter, by chance, so that who failed together does not return together.',
];

const parts: readonly { readonly part: Part; readonly title: string }[] = [
  { part: 'request', title: 'For a request' },
  { part: 'call', title: 'For a call that was admitted' },
  { part: 'grade', title: 'For a grade that has begun' },
  { part: 'client', title: 'In the clients for Python and TypeScript' },
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
  const head = ['what', 'on which failures', 'how often', 'how long', 'by whom'];
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
