import { describeExit } from '../fleet/become-ready.ts';
import type { FleetEvent } from '../fleet/start-fleet.ts';
import { duration } from '../print/amounts.ts';

/** Enough of a log line to recognise it; all of it is in the log. */
const shownOfLine = 160;

/** One line, or a few where a part's last words help, for what happens to the fleet's own parts. */
export function describeFleetEvent(event: FleetEvent): string {
  switch (event.kind) {
    case 'leftovers':
      return `removed what an earlier fleet left running: ${event.parts.join(', ')}`;
    case 'ready':
      return `${event.part} is ready (process ${event.pid}, ${duration(event.tookMs)})`;
    case 'slow':
      return `${event.part} runs again but does not answer ready yet; its log tells why`;
    case 'died': {
      const lines = event.lastLines.slice(-3).map((line) => `\n    ${line.slice(0, shownOfLine)}`);
      const words = lines.length === 0 ? '' : ` Its last lines:${lines.join('')}`;
      return `${event.part} died (${describeExit(event.exit)}); starting it again in ${duration(event.restartInMs)}.${words}`;
    }
  }
}
