import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { table } from '../print/table.ts';
import { visibleLine } from '#src/model/visible-text.ts';
import type { Advice, Study, SubjectStudy } from './found.ts';
import { onlyInCheckout } from './tokens.ts';

/** One screen: each subject in a line, then every sentence of advice; what is bad stands first. */
export function describeStudy(study: Study, width: number): string {
  const sentences = [...study.advice].sort((a, b) => weights.indexOf(a.weight) - weights.indexOf(b.weight));
  return [
    `study of ${study.environment}`,
    '',
    subjectTable(study.subjects, width),
    '',
    ...sentences.map(sentenceOf),
    ...study.missing.map((missing) => `  ?  incomplete: ${visibleLine(missing)}`),
  ].join('\n');
}

const weights: readonly Advice['weight'][] = ['bad', 'look', 'good'];
const marks: Readonly<Record<Advice['weight'], string>> = { bad: '✕', look: '→', good: '✓' };

/** One line, whatever names are in it. */
const sentenceOf = ({ weight, found, todo }: Advice): string =>
  `  ${marks[weight]}  ${visibleLine(found)}${todo === null ? '' : ` To do: ${visibleLine(todo)}.`}`;

function subjectTable(subjects: readonly SubjectStudy[], width: number): string {
  const columns = [
    { title: 'studied', of: ({ name }: SubjectStudy) => name },
    { title: 'rollouts', of: ({ rollouts }: SubjectStudy) => String(rollouts), right: true },
    { title: 'discarded', of: ({ discarded }: SubjectStudy) => String(discarded.rollouts), right: true },
    { title: 'mean', of: ({ mean }: SubjectStudy) => shown(mean), right: true },
    { title: 'best of k', of: bestText, right: true },
    { title: 'spread', of: ({ shares }: SubjectStudy) => percent(shares.spread), right: true },
    { title: 'always 0', of: ({ shares }: SubjectStudy) => percent(shares.always0), right: true },
    { title: 'always 1', of: ({ shares }: SubjectStudy) => percent(shares.always1), right: true },
    { title: 'calls', of: ({ traces }: SubjectStudy) => traces.perRollout?.toFixed(1) ?? '–', right: true },
    { title: 'p95', of: ({ traces }: SubjectStudy) => String(traces.p95 ?? '–'), right: true },
  ];
  return table(subjects, columns, width);
}

function bestText({ bestOfK }: SubjectStudy): string {
  const last = bestOfK.at(-1);
  return last === undefined ? '–' : `${shown(last.mean)} of ${last.k}`;
}

const shown = (score: number | null): string => (score === null ? '–' : score.toFixed(2));
const percent = (share: number | null): string => (share === null ? '–' : `${Math.round(share * 100)} %`);

/** Draws the report and tells where it is. What draws is large, and of no use to other commands. */
export async function writePage(study: Study, file: string): Promise<string> {
  const { studyPage } = await import('./page.ts').catch(onlyInCheckout);
  const path = resolve(file);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, studyPage(study));
  return path;
}

/** With whatever opens pages here; where nothing does, its path was printed. */
export function openPage(path: string): void {
  const opener = process.platform === 'darwin' ? 'open' : 'xdg-open';
  spawn(opener, [path], { detached: true, stdio: 'ignore' })
    .on('error', () => undefined)
    .unref();
}
