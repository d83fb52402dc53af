import { Counter } from 'prom-client';
import type { Registry } from 'prom-client';
import { failures } from '../../failure/codes.ts';
import type { FailureCode } from '../../failure/codes.ts';
import type { FleetEvent } from '../../ports/event-log.ts';

/** Where there is nobody to blame and no code. */
const none = 'none';

/**
 * Settled calls and verdicts, counted as they are told to the event log: each once, in whichever process told it. Their
 * labels are what an operator asks for: whose failure, which, and in which environment.
 */
export function eventMetrics(registry: Registry): (event: FleetEvent) => void {
  const registers = [registry];
  const calls = new Counter({
    name: 'corral_calls_settled_total',
    help: 'Tool calls that settled, by outcome, blame, code and environment',
    labelNames: ['outcome', 'blame', 'code', 'environment'],
    registers,
  });
  const verdicts = new Counter({
    name: 'corral_verdicts_total',
    help: 'Verdicts on rollouts, by what the trainer may do, blame, code and environment',
    labelNames: ['verdict', 'blame', 'code', 'environment'],
    registers,
  });
  return (event) => {
    const { environment } = event;
    if (event.kind === 'call_settled') {
      const { outcome, code } = event.summary;
      calls.inc({ outcome: outcome ?? none, blame: event.blame ?? none, code: code ?? none, environment });
    } else {
      verdicts.inc({ verdict: event.verdict.kind, ...verdictLabels(event.verdict), environment });
    }
  };
}

function verdictLabels(verdict: Extract<FleetEvent, { kind: 'verdict' }>['verdict']) {
  if (verdict.kind === 'scorable') return { blame: none, code: none };
  return { blame: blameOf(verdict.code), code: verdict.code };
}

const blameOf = (code: FailureCode) => failures[code].blame;
