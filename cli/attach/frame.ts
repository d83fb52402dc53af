import type { ScreenAnswer } from '#src/protocol/native/calls.ts';
import type { Followed } from '../top/follow-fleet.ts';
import { cutLine, type Line, say } from '../top/lines.ts';

type Size = { readonly columns: number; readonly rows: number };

/** An answer that is older is shown with its age. */
const oldMs = 3_000;

/**
 * A screen of the policy's as lines of this one. Every line is cut to the width, and each character that is an order to a terminal is
 * written out: whatever a hostile program shows, the operator's terminal only prints it.
 */
export function screenFrame(
  rollout: string,
  { told, trouble }: Followed<ScreenAnswer>,
  { columns, rows }: Size,
): readonly Line[] {
  const title = [say(`rollout ${rollout}`, 'title'), say(' · read only, q ends')];
  const note = trouble ?? noteOn(told);
  const notes = note === null ? [] : [[say(note, 'infrastructure')]];
  const shown = told?.answer.screen?.split('\n').slice(0, -1) ?? [];
  const lines: readonly Line[] = [title, ...notes, ...shown.map((line) => [say(line)])];
  return lines.slice(0, rows).map((line) => cutLine(line, columns));
}

function noteOn(told: Followed<ScreenAnswer>['told']): string | null {
  if (told === null) return 'asking';
  const { answer, agoMs } = told;
  if (answer.reason !== null) return `no terminal to show: ${answer.reason.trim()}`;
  return agoMs < oldMs ? null : `as it was ${Math.round(agoMs / 1000)} s ago`;
}
