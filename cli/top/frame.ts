import { blameOf } from '#src/failure/codes.ts';
import type { FleetAnswer } from '#src/protocol/native/fleet.ts';
import { age, bytes } from '../print/amounts.ts';
import { cutLine, type Line, say, type Span, widthOf } from './lines.ts';
import {
  counted,
  launchSection,
  lineSection,
  poolSection,
  processSection,
  type Section,
} from './sections.ts';

/** What is known of the fleet at this moment. */
export type View = {
  readonly url: string;
  readonly timeOfDay: string;
  /** The last answer, and how long ago it came; null: there was none yet. */
  readonly told: { readonly answer: FleetAnswer; readonly agoMs: number } | null;
  /** Why there is no newer one, in words; null: the last try was answered. */
  readonly trouble: string | null;
  /** What stands on the last line, such as the key that ends it. */
  readonly footer: string | null;
};

/** Columns and rows of the screen; Infinity if the output is not a terminal. */
export type Size = { readonly columns: number; readonly rows: number };

/** The screen as lines, at most as wide and as many as it has. What has no room is counted, never silently left out. */
export function frameOf(view: View, { columns, rows }: Size): readonly Line[] {
  const head = [...heading(view, columns), ...(view.told === null ? [] : summary(view.told.answer))];
  const foot = view.footer === null ? [] : [[say(`${view.footer}${costOf(view)}`)]];
  const room = rows - head.length - foot.length;
  const body = view.told === null ? [] : listSections(view.told.answer, { columns, rows: room });
  const filler = Number.isFinite(rows) ? Math.max(0, room - body.length) : 0;
  const lines = [
    ...head,
    ...body,
    ...Array.from({ length: foot.length === 0 ? 0 : filler }, () => []),
    ...foot,
  ];
  return lines.slice(0, rows).map((line) => cutLine(line, columns));
}

/** Older than this, it is said: a refresh a second, one that came late, and the age of the gateway's own reading. */
const freshMs = 3_000;

function heading({ url, timeOfDay, told, trouble }: View, columns: number): readonly Line[] {
  const fleet = told === null ? '' : ` fleet ${told.answer.fleet}`;
  const ageMs = told === null ? 0 : told.answer.age_ms + told.agoMs;
  const old = ageMs > freshMs ? `, as it was ${age(ageMs)} ago` : '';
  const left = `corral top ${fleet} at ${url}${old}`;
  const room = Number.isFinite(columns) ? columns - widthOf(left) - widthOf(timeOfDay) : 2;
  const first = [say(`${left}${' '.repeat(Math.max(2, room))}${timeOfDay}`, 'title')];
  return trouble === null ? [first] : [first, [say(trouble, 'infrastructure')]];
}

const labelWidth = 11;
const labelled = (label: string, ...spans: readonly Span[]): Line => [
  say(label.padEnd(labelWidth)),
  ...spans,
];

function summary(answer: FleetAnswer): readonly Line[] {
  const { rollouts, waiting, redis, verdicts } = answer;
  const longest = waiting.oldest_ms === null ? '' : `, the longest for ${age(waiting.oldest_ms)}`;
  const codes = codeSpans(verdicts.codes);
  return [
    labelled(
      'rollouts',
      say(
        `${rollouts.open} open, ${waiting.rollouts} waiting${longest}, ${counted(rollouts.calls_running, ['call', 'calls'])} running`,
      ),
    ),
    labelled('sandboxes', say(sandboxWords(answer))),
    labelled(
      'verdicts',
      say(`in ${age(verdicts.of_ms)}: ${verdicts.scorable} scorable, ${verdicts.discarded} discarded`),
      ...blameSpans(verdicts),
    ),
    ...(codes.length === 0 ? [] : [labelled('', ...codes)]),
    labelled('redis', say(redisWords(redis))),
  ];
}

function sandboxWords({ sandboxes, templates, templates_left_out: left }: FleetAnswer): string {
  const { all, starting, starting_at_most: most, leaving } = sandboxes;
  const sum = (of: (template: FleetAnswer['templates'][number]) => number) =>
    `${left > 0 ? 'at least ' : ''}${templates.reduce((total, template) => total + of(template), 0)}`;
  const starts = `${starting}${most === null ? '' : ` of at most ${most}`} starting`;
  return `${all}: ${sum(({ held }) => held)} held, ${sum(({ ready }) => ready)} ready, ${starts}, ${leaving} leaving`;
}

function blameSpans({ discarded, blame }: FleetAnswer['verdicts']): readonly Span[] {
  if (discarded === 0) return [];
  const whose = (['infrastructure', 'caller', 'model'] as const).flatMap((one) => {
    const count = blame[one] ?? 0;
    return count === 0 ? [] : [say(`${one} ${count}`, one)];
  });
  return [say(' ('), ...between(whose, say(', ')), say(')')];
}

function codeSpans(codes: Readonly<Record<string, number>>): readonly Span[] {
  const sorted = Object.entries(codes).sort(([, a], [, b]) => b - a);
  return between(
    sorted.map(([code, count]) => say(`${code} ${count}`, blameOf(code))),
    say(', '),
  );
}

const between = (spans: readonly Span[], separator: Span): readonly Span[] =>
  spans.flatMap((span, place) => (place === 0 ? [span] : [separator, span]));

function redisWords(redis: FleetAnswer['redis']): string {
  const limit = redis.limit_bytes === null ? 'used, no limit' : `of ${bytes(redis.limit_bytes)}`;
  const disk =
    redis.append_only === null ? [] : [redis.append_only ? 'append-only file' : 'no append-only file'];
  return [
    redis.version ?? 'unknown version',
    `${bytes(redis.used_bytes)} ${limit}`,
    ...(redis.maxmemory_policy === null ? [] : [redis.maxmemory_policy]),
    ...disk,
  ].join(', ');
}

/** What watching costs. */
const costOf = ({ told }: View): string =>
  told === null ? '' : `; this reading took ${told.answer.redis.reading_ms.toFixed(1)} ms of Redis’ time`;

/** An empty line and the title, and the titles of its columns. */
const overhead = (section: Section) => (section.rows === 0 ? 2 : 3);

function listSections(answer: FleetAnswer, { columns, rows }: Size): readonly Line[] {
  const launches = launchSection(answer);
  const shown = launches.rows === 0 ? [] : [launches];
  const sections = [lineSection(answer), poolSection(answer), ...shown, processSection(answer)];
  const counts = share(sections, rows);
  return sections
    .flatMap((section, place) => showSection(section, counts[place] ?? 0, columns))
    .slice(0, Math.max(0, rows));
}

/** How many rows each section shows: a short one gives what it does not need to the others. */
function share(sections: readonly Section[], rows: number): readonly number[] {
  let room = rows - sections.reduce((sum, section) => sum + overhead(section), 0);
  const counts = sections.map(() => 0);
  for (;;) {
    const hungry = sections.flatMap(({ rows: has }, place) => (has > (counts[place] ?? 0) ? [place] : []));
    if (hungry.length === 0 || room <= 0) return counts;
    if (!Number.isFinite(room)) return sections.map((section) => section.rows);
    for (const place of hungry) {
      if (room === 0) break;
      counts[place] = (counts[place] ?? 0) + 1;
      room -= 1;
    }
  }
}

function showSection(section: Section, count: number, columns: number): readonly Line[] {
  const all = section.rows + section.untold;
  const note = count < all ? `${section.note}; ${count === 0 ? 'none' : count} shown` : section.note;
  const title: Line = [say(section.title, 'title'), say(`  ${note}`)];
  return count === 0 ? [[], title] : [[], title, ...section.show(count, columns)];
}
