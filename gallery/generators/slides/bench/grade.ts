import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { most } from './allowed.ts';
import { type Asked, judgeDeck } from './judge.ts';
import type { Measured } from './measure.ts';

/*
 * Grades deck.html of the workspace. Chromium runs as the policy's user. A deck that it cannot show is worth 0; if it cannot
 * show a page of the grader's own either, the machine is at fault, and the grader ends badly, which discards the rollout.
 */

class MachineFault extends Error {}

const row = JSON.parse(readFileSync(0, 'utf8')) as { readonly slides: readonly Asked[] };
try {
  const html = spawnSync('as-policy', ['head', '-c', String(most.bytes + 1), 'deck.html']).stdout.toString();
  const measured = measuredSurely(html);
  finish(measured);
} catch (error) {
  if (!(error instanceof MachineFault)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}

function finish(measured: Measured): void {
  if ('refused' in measured) return write(0, `refused: ${measured.refused.join(', ')}`);
  if ('died' in measured) return write(0, `Chromium cannot show the deck: ${measured.died}`);
  if ('fault' in measured) throw new MachineFault(measured.fault);
  const { score, content, harmony, slides } = judgeDeck(measured.slides, row.slides);
  const pages = slides.map(
    ({ covered, asked, look }) => `${covered} of ${asked} points, ${JSON.stringify(look)}`,
  );
  return write(score, `content ${content}, harmony ${harmony}; ${pages.join('; ')}`);
}

function write(score: number, reason: string): void {
  process.stderr.write(`${reason}\n`);
  writeFileSync(process.env['CORRAL_SCORE_FILE'] ?? '', `${score}\n`);
}

/** A deck that cannot be shown is tried twice, and both times next to the grader's own page. */
function measuredSurely(html: string): Measured {
  const first = measured(html);
  if (!('died' in first)) return first;
  const alone = measured(null);
  return 'fault' in alone ? alone : measured(html);
}

/** `html`: null for the grader's own page alone. */
function measured(html: string | null): Measured {
  const program = [join(import.meta.dirname, '../../node'), join(import.meta.dirname, 'measure-stdin.ts')];
  const args = [
    '--stdin',
    '--timeout',
    '40',
    '--output-bytes',
    '16000000',
    ...program,
    ...(html === null ? ['control'] : []),
  ];
  const { status, stdout, stderr } = spawnSync('as-policy', args, {
    input: html ?? '',
    maxBuffer: 32_000_000,
  });
  if (status === 0) return JSON.parse(stdout.toString()) as Measured;
  const said = `ended with ${status}: ${stderr.toString().slice(-500)}`;
  return html === null ? { fault: said } : { died: said };
}
