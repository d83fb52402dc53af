import { writeSync } from 'node:fs';
import { visibleLine } from '#src/model/visible-text.ts';

/** One line on standard error, for whoever reads the container's log. Not by `process.stderr`, which takes longer to load than to write. */
export function log(entry: object): void {
  try {
    writeSync(2, `${visibleLine(JSON.stringify(entry))}\n`);
  } catch {
    // Nobody reads it: that is no reason to end.
  }
}
