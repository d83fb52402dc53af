import { runId } from '#src/model/ids.ts';
import type { RolloutKey } from '#src/model/rollout.ts';
import type { RolloutEvent } from '#src/ports/event-log.ts';
import type { Finding } from '#src/reports/findings/finding.ts';
import { FoundRollouts, mostFoundRollouts } from '#src/reports/findings/collect.ts';
import { findingsOf } from '#src/reports/findings/findings.ts';
import type { Missing } from '#src/reports/rollout-story.ts';
import { visibleLine } from '#src/model/visible-text.ts';
import type { Outline } from './outlines.ts';
import type { Making } from './making.ts';
import { makingOfOne, type OfRun } from './one-tenant.ts';
import { anyTenant, type LogOptions, outlining, readLog } from './read-log.ts';
import { indented, textWidth, wrap } from './screen.ts';

export type RunLog = {
  readonly outlines: readonly Outline[];
  readonly findings: readonly ToldFinding[];
  readonly missing: readonly Missing[];
};

/** Some of its rollouts are enough for a terminal. */
export type ToldFinding = Omit<Finding, 'ids'>;

/** What is logged of a run: its rollouts in outline, and what to look at. Items come with the verdicts alone, for keys that read them. */
export async function readRunLog(
  options: LogOptions,
  ofRun: OfRun,
  variables: Readonly<Record<string, string | undefined>>,
): Promise<RunLog> {
  const found = new FoundRollouts();
  const wanted = anyTenant(runId(ofRun.run), null);
  const into = <Made>(making: Making<Made>) => makingOfOne(ofRun, collectAlso(found, making));
  const {
    told: outlines,
    missing,
    hasWhy,
  } = await readLog(options, wanted, variables, () => into(outlining()));
  const verdicts = { ...wanted, verdicts: true as const };
  const more =
    hasWhy === true ? [] : (await readLog(options, verdicts, variables, () => into(discardEvents))).missing;
  const reasons = [...missing, ...more].map(({ keeper, why }) => `${keeper}: ${why}`);
  if (!found.isWhole) reasons.push(`findings look at ${mostFoundRollouts} rollouts`);
  const all = findingsOf({ rollouts: found.all, missing: [...new Set(reasons)] });
  const findings = all.map(({ ids: _ids, ...finding }) => finding);
  return { outlines, findings, missing };
}

function collectAlso<Made>(found: FoundRollouts, making: Making<Made>): Making<Made> {
  return {
    ...making,
    add: (event: RolloutEvent, line?: string) => {
      found.add(event);
      return making.add(event, line);
    },
    finish: (key: RolloutKey) => {
      found.finish(key);
      making.finish?.(key);
    },
  };
}

const discardEvents: Making<null> = { add: () => true, made: () => null, most: '' };

export function describeFindings(findings: readonly ToldFinding[], width: number): readonly string[] {
  if (findings.length === 0) return [];
  return ['', 'what to look at', ...findings.flatMap((finding) => describeFinding(finding, width))];
}

function describeFinding(
  { weight, title, what, text, examples }: ToldFinding,
  width: number,
): readonly string[] {
  const most = textWidth(width);
  const heading = `${weight === 'bad' ? '!' : '-'} ${title}${what === null ? '' : `: ${what}`}`;
  const shown = examples.length === 0 ? [] : [`such as ${examples.join(', ')}`];
  return [
    heading,
    ...[text, ...shown].flatMap((line) => wrap(visibleLine(line), most - 2).map(indented)),
  ].map((line) => indented(cut(visibleLine(line), most)));
}

const cut = (line: string, width: number): string =>
  line.length <= width ? line : `${line.slice(0, width - 1)}…`;
