import { failureRow } from '../../failure/codes.ts';
import type { FailureCode } from '../../failure/codes.ts';
import type { FleetEvent } from '../../ports/event-log.ts';
import type { Instruments } from './instruments.ts';

/** Where there is nobody to blame and no code. */
const none = 'none';

/**
 * Settled calls and verdicts, counted as they are told to the event log: each once, in whichever process told it. Their
 * labels are what an operator asks for: whose failure, which, and in which environment.
 */
export function eventMetrics({ counter }: Instruments): (event: FleetEvent) => void {
  const calls = counter(
    'corral_calls_settled_total',
    'Tool calls that settled, by outcome, blame, code and environment',
    ['outcome', 'blame', 'code', 'environment'],
  );
  const verdicts = counter(
    'corral_verdicts_total',
    'Verdicts on rollouts, by what the trainer may do, blame, code, environment, and whether a command is suspected',
    ['verdict', 'blame', 'code', 'environment', 'suspected'],
  );
  return (event) => {
    if (event.kind === 'call_settled') calls.inc(callLabels(event));
    if (event.kind === 'verdict') verdicts.inc(verdictLabels(event));
  };
}

function callLabels({ summary, blame, environment }: Extract<FleetEvent, { kind: 'call_settled' }>) {
  const { outcome, code } = summary;
  return { outcome: outcome ?? none, blame: blame ?? none, code: code ?? none, environment };
}

function verdictLabels({ verdict, suspected, environment }: Extract<FleetEvent, { kind: 'verdict' }>) {
  const { blame, code } = verdict.kind === 'scorable' ? nobody : whoseDiscard(verdict.code);
  return { verdict: verdict.kind, blame, code, environment, suspected: suspected ?? none };
}

const nobody = { blame: none, code: none };
const whoseDiscard = (code: FailureCode) => ({ blame: failureRow(code).blame, code });
