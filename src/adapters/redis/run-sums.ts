import { failureCodes, failureRow, type Blame, type FailureCode } from '#src/failure/codes.ts';
import type { Outcome } from '#src/model/outcome.ts';
import type { RunReport } from '#src/ports/fleet/reports.ts';

const known: ReadonlySet<string> = new Set(failureCodes);
const isFailureCode = (code: string): code is FailureCode => known.has(code);

/**
 * A run's counters by outcome, code and blame. Scripts count `outcome:<outcome>` and `code:<code>`; whose fault a code
 * is, only the failure table knows, and a code that is not in it is the model's own.
 */
export function sumsOf(fields: ReadonlyMap<string, string>): Pick<RunReport, 'calls' | 'codes' | 'blame'> {
  const calls: Partial<Record<Outcome, number>> = {};
  const codes: Partial<Record<FailureCode, number>> = {};
  const blame: Partial<Record<Blame, number>> = {};
  for (const [field, text] of fields) {
    const [kind, name = ''] = field.split(':');
    if (kind === 'outcome') calls[name as Outcome] = Number(text);
    if (kind !== 'code') continue;
    if (isFailureCode(name)) codes[name] = Number(text);
    const whose = isFailureCode(name) ? failureRow(name).blame : 'model';
    blame[whose] = (blame[whose] ?? 0) + Number(text);
  }
  return { calls, codes, blame };
}
