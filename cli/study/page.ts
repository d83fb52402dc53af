import { escaped, pageOf } from '../drawing/page.ts';
import { bytes, duration } from '../print/amounts.ts';
import { drawBigrams, drawHistogram, drawSizes, drawToolCalls } from './charts/calls.ts';
import { drawItems, drawParts, mostBars } from './charts/items.ts';
import { drawBestOfK, drawLatency, drawQuadrants } from './charts/rewards.ts';
import type { Advice, Study, SubjectStudy, Topic } from './found.ts';
import type { Amounts, ToolUse, Trace } from './traces.ts';

/** The whole study as one page: what to do first, then a section for each thing that was looked at. */
export function studyPage(study: Study): string {
  const [first] = study.subjects;
  const headline = adviceOf(study, 'spread')?.found ?? `Nothing was seen of ${study.environment}.`;
  const body = [
    `<h1>${escaped(headline)}</h1>`,
    `<p class="lead">${escaped(leadOf(study))}</p>`,
    ...(first === undefined ? [] : [tiles(first)]),
    `<section><h2>What to do</h2>${adviceList(study.advice)}</section>`,
    subjectsSection(study.subjects),
    ...(first === undefined ? [] : sectionsOf(first, study)),
    datasetSection(study),
    burstSection(study),
    discardsSection(study),
    `<footer>${escaped(footerOf(study))}</footer>`,
  ];
  return pageOf(
    `Study of ${study.environment}`,
    body.filter((part) => part !== ''),
  );
}

const adviceOf = ({ advice }: Study, topic: Topic): Advice | undefined =>
  advice.find((one) => one.topic === topic);

function leadOf({ environment, subjects, advice }: Study): string {
  const bad = advice.filter(({ weight }) => weight === 'bad').length;
  const look = advice.filter(({ weight }) => weight === 'look').length;
  const rollouts = subjects.reduce((all, subject) => all + subject.rollouts, 0);
  const fix = bad === 0 ? 'nothing must be fixed first' : `${bad} to fix before a run is paid for`;
  return `${environment}, from ${rollouts.toLocaleString('en-GB')} rollouts: ${fix}, ${look} to look at.`;
}

function footerOf({ missing, subjects }: Study): string {
  const who = subjects.some(({ what }) => what === 'policy')
    ? 'Policies are scripts; no model was called.'
    : subjects.some(({ what }) => what === 'run')
      ? 'Read from what the fleet logged; the run may have changed its model on the way.'
      : 'Played by the model that was named; nothing is said of any other.';
  return [who, ...missing.map((part) => `Incomplete: ${part}.`)].join(' ');
}

function tiles({ scored, discarded, mean, shares, traces }: SubjectStudy): string {
  const facts: readonly (readonly [string, string])[] = [
    ['items with spread', percent(shares.spread)],
    ['always 0', percent(shares.always0)],
    ['always 1', percent(shares.always1)],
    ['mean reward', shown(mean)],
    ['calls a rollout, P95', `${traces.perRollout?.toFixed(1) ?? '–'}, ${traces.p95 ?? '–'}`],
    ['scored / discarded', `${scored} / ${discarded.rollouts}`],
  ];
  const cells = facts.map(([name, value]) => `<div><dt>${name}</dt><dd>${escaped(value)}</dd></div>`);
  return `<dl class="tiles">${cells.join('')}</dl>`;
}

function adviceList(advice: readonly Advice[]): string {
  const order: readonly Advice['weight'][] = ['bad', 'look', 'good'];
  const sorted = [...advice].sort((a, b) => order.indexOf(a.weight) - order.indexOf(b.weight));
  const items = sorted.map(
    ({ weight, found, todo }) =>
      `<li class="${weight}">${escaped(found)}${todo === null ? '' : `<span class="todo">To do: ${escaped(todo)}.</span>`}</li>`,
  );
  return `<ul class="advice">${items.join('')}</ul>`;
}

type Cell = string | { readonly number: string };

/** A section with its sentence over it; drawings and tables as they come. */
function section(title: string, note: string, ...parts: readonly string[]): string {
  return `<section><h2>${escaped(title)}</h2><p class="note">${escaped(note)}</p>${parts.join('')}</section>`;
}

const figure = (svg: string): string => `<figure tabindex="0">${svg}</figure>`;

function tableOf(heads: readonly Cell[], rows: readonly (readonly Cell[])[]): string {
  const cells = (tag: 'th' | 'td', row: readonly Cell[]) =>
    row
      .map((cell) =>
        typeof cell === 'string'
          ? `<${tag}>${escaped(cell)}</${tag}>`
          : `<${tag} class="number">${escaped(cell.number)}</${tag}>`,
      )
      .join('');
  const lines = [cells('th', heads), ...rows.map((row) => cells('td', row))];
  return `<div class="wide"><table>${lines.map((line) => `<tr>${line}</tr>`).join('')}</table></div>`;
}

const n = (number: string): Cell => ({ number });

function subjectsSection(subjects: readonly SubjectStudy[]): string {
  if (subjects.length < 2) return '';
  const heads = [
    'studied',
    ...['rollouts', 'mean', '± σ', 'spread', 'always 0', 'always 1', 'calls', 'P95'].map(n),
  ];
  const rows = subjects.map(({ name, rollouts, mean, deviation, shares, traces }) => [
    name,
    n(String(rollouts)),
    n(shown(mean)),
    n(shown(deviation)),
    n(percent(shares.spread)),
    n(percent(shares.always0)),
    n(percent(shares.always1)),
    n(traces.perRollout?.toFixed(1) ?? '–'),
    n(String(traces.p95 ?? '–')),
  ]);
  return section(
    'What was studied',
    `The drawings below are of ${subjects[0]?.name ?? ''}, unless they name others.`,
    tableOf(heads, rows),
  );
}

/** In the order in which a person looks: what teaches, how far it goes, what it costs, why. */
function sectionsOf(first: SubjectStudy, study: Study): readonly string[] {
  const { items, traces, latency, parts } = first;
  const found = (topic: Topic, otherwise: string) => adviceOf(study, topic)?.found ?? otherwise;
  const sections: string[] = [];
  if (items.length > 0)
    sections.push(
      section(
        found('spread', 'Reward by item'),
        itemsNote(items.length, study.ceilings),
        figure(drawItems(items, study.ceilings)),
      ),
    );
  const curved = study.subjects.filter(({ bestOfK }) => bestOfK.length > 1);
  if (curved.length > 0)
    sections.push(
      section(found('best of k', 'Best of k'), bestNote, figure(drawBestOfK(curved, study.ceilings))),
    );
  if (traces.calls > 0) {
    sections.push(
      section(
        found('calls', 'Calls'),
        callsNote,
        figure(drawToolCalls(study.subjects)),
        figure(drawHistogram(traces)),
        longestTable(traces.longest),
      ),
      section(
        found('outputs', 'Outputs'),
        outputsNote,
        figure(drawSizes(traces.tools)),
        toolTable(traces.tools),
      ),
    );
  }
  if (latency.points.length > 0)
    sections.push(section(found('latency', 'Reward and time'), latencyNote, figure(drawLatency(latency))));
  if (study.against !== null && study.against.quadrants.items > 0)
    sections.push(
      section(
        found('against', 'Compared'),
        quadrantsNote(study.against.quadrants.unmatched),
        figure(drawQuadrants(study.against.quadrants)),
      ),
    );
  if (traces.bigrams.length > 0)
    sections.push(
      section(
        found('repeats', 'Habits'),
        habitsNote,
        figure(drawBigrams(traces.bigrams)),
        repeatTable(first),
      ),
    );
  if (parts.length > 1) sections.push(section(found('parts', 'Parts'), partsNote, figure(drawParts(parts))));
  return sections;
}

const itemsNote = (count: number, ceilings: Study['ceilings']): string =>
  `One bar an item, the best paid first: the mean of its copies, a line of ± σ, and the best copy as a red cross. Where cross and bar end together and there is no line, all copies are paid the same, and the item moves nothing.${count > mostBars ? ` Of ${count} items ${mostBars} are drawn, at even distances.` : ''}${ceilings.length > 0 ? ' The dashed line is a ceiling: what people are paid by each other.' : ''}`;
const bestNote =
  'The mean over items of the best of k copies, whichever they are. What rises can be learnt: the good answers are there, only not each time.';
const callsNote =
  'Calls a rollout by tool; below, how many rollouts made how many calls, and where 95 % of them end. Discarded rollouts are left out: they were cut short.';
const outputsNote = 'What one call puts into the context of the model, and how long it takes.';
const latencyNote =
  'One dot a rollout, discarded ones left out. The dashed line is where 95 % of them have ended.';
const habitsNote = 'How often one tool follows another in the same rollout.';
const partsNote =
  'Each part of the grader over all rollouts with a score. A part whose bar is a point teaches nothing.';
const quadrantsNote = (unmatched: number): string =>
  `One dot an item: to the left fewer calls, upwards a better reward.${unmatched === 0 ? '' : ` ${unmatched} items are of one of the two alone, and left out.`}`;

const longestTable = (longest: readonly Trace[]): string =>
  tableOf(
    ['the longest', 'item', n('reward'), n('calls'), 'tools'],
    longest.map(({ rollout, item, score, tools }) => [
      rollout,
      item ?? '–',
      n(shown(score)),
      n(String(tools.length)),
      runsOf(tools),
    ]),
  );

/** `search × 6, list, cat × 2`; what goes on and on is cut. */
function runsOf(tools: readonly string[]): string {
  const runs: { tool: string; times: number }[] = [];
  for (const tool of tools) {
    const last = runs.at(-1);
    if (last?.tool === tool) last.times += 1;
    else runs.push({ tool, times: 1 });
  }
  const said = runs.slice(0, 14).map(({ tool, times }) => (times === 1 ? tool : `${tool} × ${times}`));
  return said.join(', ') + (runs.length > 14 ? ', …' : '');
}

function toolTable(tools: readonly ToolUse[]): string {
  const whole = (amount: Amounts | null, of: (value: number) => string) =>
    n(amount === null ? '–' : `${of(amount.mean)} / ${of(amount.p95)}`);
  const heads = [
    'tool',
    n('calls'),
    n('a rollout'),
    n('tokens, mean / P95'),
    n('bytes, mean / P95'),
    n('time, mean / P95'),
  ];
  const rows = tools.map(({ tool, calls, perRollout, tokens, bytes: size, seconds }) => [
    tool,
    n(String(calls)),
    n(perRollout.toFixed(1)),
    whole(tokens, (value) => String(Math.round(value))),
    whole(size, (value) => bytes(Math.round(value))),
    whole(seconds, (value) => duration(value * 1000)),
  ]);
  return tableOf(heads, rows);
}

function repeatTable({ traces: { repeats } }: SubjectStudy): string {
  if (repeats === null || repeats.examples.length === 0) return '';
  const rows = repeats.examples.map(({ call, times }) => [call, n(String(times))]);
  return tableOf(['made again with the same arguments', n('times')], rows);
}

function datasetSection(study: Study): string {
  const { dataset } = study;
  if (dataset === null) return '';
  const { pairs, overlap } = dataset;
  const rows = [
    ...pairs.map(({ one, other, likeness }) => ['training', one, other, n(percent(likeness))]),
    ...(overlap?.pairs ?? []).map(({ one, other, likeness }) => [
      'training and evaluation',
      one,
      other,
      n(percent(likeness)),
    ]),
  ];
  const shared = (overlap?.shared ?? []).map(({ by, shared: values, train, eval: apart, examples }) => [
    by,
    n(String(values)),
    n(`${train.rows} of ${train.of}`),
    n(`${apart.rows} of ${apart.of}`),
    examples.join(', '),
  ]);
  const title = [adviceOf(study, 'duplicates')?.found, adviceOf(study, 'overlap')?.found]
    .filter((said) => said !== undefined)
    .join(' ');
  return section(
    title,
    'Rows are alike where four of five runs of three words are in both, without id and without what only the grader sees.',
    rows.length === 0 ? '' : tableOf(['rows of', 'one', 'other', n('alike')], rows),
    shared.length === 0
      ? ''
      : tableOf(
          ['both have the same', n('values'), n('rows of training'), n('of evaluation'), 'for instance'],
          shared,
        ),
  );
}

const measured = (value: number | null) => (value === null ? 'not told' : duration(value * 1000));

function burstSection(study: Study): string {
  const { burst } = study;
  if (burst === null) return '';
  const { assumed, callS, gradeS } = burst;
  const rows: readonly (readonly Cell[])[] = [
    ['rollouts in a step', n(String(assumed.rolloutsPerStep)), 'assumed'],
    ['copies of an item', n(String(assumed.copiesPerItem)), 'assumed'],
    ['a model’s thinking before each call', n(duration(assumed.thinkingS * 1000)), 'assumed'],
    ['calls a rollout', n(burst.callsPerRollout.toFixed(1)), 'studied'],
    ['a call', n(measured(callS)), 'studied, on the fleet that played'],
    ['grading and the rest', n(measured(gradeS)), 'studied, on the fleet that played'],
    ['a rollout', n(duration(burst.rolloutS * 1000)), 'from these'],
    ['calls in a step', n(Math.round(burst.callsPerStep).toLocaleString('en-GB')), 'from these'],
    ['calls a second while all work', n(burst.callsPerSecond.toFixed(1)), 'from these'],
    [
      'calls in the worst second',
      n(burst.worstCallsPerSecond.toFixed(0)),
      `from these, × ${assumed.worstSecond} (assumed)`,
    ],
    ['sandbox hours a step', n(burst.sandboxHoursPerStep.toFixed(2)), 'from these'],
    [`sandbox hours of ${assumed.steps} steps`, n(burst.sandboxHours.toFixed(1)), 'from these'],
    ['steps in an epoch', n(String(burst.stepsPerEpoch)), 'from these and the rows'],
  ];
  return section(
    `${adviceOf(study, 'burst')?.found ?? ''} ${adviceOf(study, 'cost')?.found ?? ''}`,
    'What a training step would ask of a fleet. A scripted policy makes other calls than a model will: study the model itself before you count on it.',
    tableOf(['figure', n('value'), 'from'], rows),
  );
}

function discardsSection({ subjects }: Study): string {
  const rows = subjects.flatMap(({ name, discarded }) =>
    discarded.causes.map(({ code, blame, at, rollouts }) => [name, code, blame, at, n(String(rollouts))]),
  );
  if (rows.length === 0) return '';
  return section(
    'What was discarded, and whose fault it was',
    'These are in no mean and no share above.',
    tableOf(['studied', 'code', 'blame', 'at', n('rollouts')], rows),
  );
}

const shown = (score: number | null): string => (score === null ? '–' : score.toFixed(2));
const percent = (share: number | null): string => (share === null ? '–' : `${Math.round(share * 100)} %`);
