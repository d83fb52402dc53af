import type { GroupReport, ReportStore, RunReport, SandboxCost } from '#src/ports/fleet/reports.ts';
import { itemKey, runId } from '#src/model/ids.ts';
import { recordOf } from './record.ts';
import {
  listOf,
  numberOf,
  numberOrNull,
  textOf,
  textOrNull,
  type Reply,
  type RunScript,
} from './script-runner.ts';
import { runName, runOf } from './keys.ts';
import { failureCodes, blameOf, type Blame, type FailureCode } from '#src/failure/codes.ts';
import type { Outcome } from '#src/model/outcome.ts';

/** The items of a report are the newest 2,000 of the run, its groups the newest 32 waves of each; counters are of the whole run. */
export function reportStore(run: RunScript): ReportStore {
  return {
    cost: async () => [...pairsOf(listOf(await run('list-cost')).map(textOf))].map(costOf),
    runs: async (tenant) => {
      const names = listOf(await run('list-runs', encodeURIComponent(tenant)));
      return names.map((name) => runOf(textOf(name)).run);
    },
    run: async (tenant, ofRun) => {
      const reply = await run('report-run', runName(tenant, ofRun));
      return reply === null ? null : { tenant, run: runId(ofRun), ...reportOf(reply) };
    },
    groups: async (tenant, ofRun, items) =>
      listOf(await run('report-groups', runName(tenant, ofRun), ...items)).map(groupOf),
    rollouts: async (tenant, ofRun, { verdict = '', code = '', cursor = '0' }) => {
      const [rollouts, next] = listOf(
        await run('list-rollouts', runName(tenant, ofRun), verdict, code, cursor),
      );
      return { rollouts: listOf(rollouts).map(recordOf), cursor: textOrNull(next) };
    },
  };
}

function reportOf(reply: Reply): Omit<RunReport, 'tenant' | 'run'> {
  const [flat, open, items] = listOf(reply);
  const fields = pairsOf(listOf(flat).map(textOf));
  const total = (name: string) => Number(fields.get(name) ?? 0);
  return {
    state: fields.get('state') === 'closed' ? 'closed' : 'open',
    rollouts: total('rollouts'),
    open: numberOf(open),
    scored: total('scored'),
    discarded: total('discarded'),
    ...sumsOf(fields),
    items: listOf(items).map((item) => itemKey(textOf(item))),
    sandboxMs: {
      scored: total('sandboxMs:scored'),
      discarded: total('sandboxMs:discarded'),
      ungraded: total('sandboxMs:ungraded'),
    },
  };
}

/** No name of an environment has a space. */
function costOf([field, ms]: readonly [string, string]): SandboxCost {
  const [environment = '', state = ''] = field.split(' ');
  return { environment, state: state as SandboxCost['state'], ms: Number(ms) };
}

function pairsOf(flat: readonly string[]): ReadonlyMap<string, string> {
  const pairs = new Map<string, string>();
  for (let index = 0; index + 1 < flat.length; index += 2)
    pairs.set(flat[index] ?? '', flat[index + 1] ?? '');
  return pairs;
}

/** `spread` is the standard deviation of the scores, which is what an advantage is divided by. */
function groupOf(row: Reply): GroupReport {
  const [item, wave, n, scored, discarded, mean, best, squares] = listOf(row);
  const scores = numberOrNull(scored) ?? 0;
  return {
    item: itemKey(textOf(item)),
    wave: numberOf(wave),
    n: numberOrNull(n) ?? 0,
    scored: scores,
    discarded: numberOrNull(discarded) ?? 0,
    mean: numberOrNull(mean),
    best: numberOrNull(best),
    spread: scores === 0 ? null : Math.sqrt((numberOrNull(squares) ?? 0) / scores),
  };
}

const known: ReadonlySet<string> = new Set(failureCodes);
const isFailureCode = (code: string): code is FailureCode => known.has(code);

/**
 * A run's counters by outcome, code and blame. Scripts count `outcome:<outcome>` and `code:<code>`; whose fault a code
 * is, only the failure table knows.
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
    const whose = blameOf(name);
    blame[whose] = (blame[whose] ?? 0) + Number(text);
  }
  return { calls, codes, blame };
}
