import type { Texts } from '../model/environment.ts';
import type { CallAnswer } from '../protocol/sandboxd/wire.ts';
import { fillText } from './fill-text.ts';

/**
 * What Corral itself says about a command after its output, one sentence a line. A clean exit is worth a word only
 * where there is nothing else to read: an empty answer looks like a broken tool.
 */
export function notesOn(answer: CallAnswer, texts: Texts): readonly string[] {
  const killed = (answer.evidence.outOfMemoryKills ?? 0) > 0;
  const ending = endingNote(answer, texts);
  return [...(ending === null ? [] : [ending]), ...(killed ? [texts.outOfMemory] : [])];
}

function endingNote({ ending, stdout, stderr, evidence }: CallAnswer, texts: Texts): string | null {
  switch (ending.kind) {
    case 'exited': {
      const silent = stdout.totalBytes + stderr.totalBytes === 0;
      return ending.exitCode === 0 && !silent ? null : fillText(texts.exitCode, { code: ending.exitCode });
    }
    case 'signalled':
      return fillText(texts.signalled, { signal: ending.signal });
    case 'timed_out':
      return fillText(texts.timedOut, { seconds: inSeconds(ending.timeoutMs ?? evidence.durationMs) });
    case 'cancelled':
      return texts.cancelled;
    case 'not_started':
      return fillText(texts.notStarted, { reason: ending.message });
  }
}

/** Whole seconds where they are whole, else tenths. */
const inSeconds = (durationMs: number): number => Math.round(durationMs / 100) / 10;
