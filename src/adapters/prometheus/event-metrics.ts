import { blamed, none } from './catalogue/tables.ts';
import type { FleetEvent } from '#src/ports/event-log.ts';
import type { Instruments } from './instruments.ts';

/**
 * Settled calls and verdicts, counted as they are told to the event log: each once, in whichever process told it. Their
 * labels are what an operator asks for: whose failure, which, and in which environment.
 */
export function eventMetrics({ count }: Instruments): (event: FleetEvent) => void {
  return (event) => {
    if (event.kind === 'call_settled') count('corral_calls_settled_total', callLabels(event));
    if (event.kind === 'verdict') count('corral_verdicts_total', verdictLabels(event));
  };
}

function callLabels({ summary, blame, environment }: Extract<FleetEvent, { kind: 'call_settled' }>) {
  const { outcome, code } = summary;
  return { outcome: outcome ?? none, blame: blame ?? none, code: code ?? none, environment };
}

function verdictLabels({ verdict, suspected, environment }: Extract<FleetEvent, { kind: 'verdict' }>) {
  const { blame, code } = verdict.kind === 'scorable' ? nobody : blamed(verdict.code);
  return { verdict: verdict.kind, blame, code, environment, suspected: suspected ?? none };
}

const nobody = { blame: none, code: none };
