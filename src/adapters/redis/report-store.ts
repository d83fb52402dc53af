import type { GroupReport, ReportStore, RunReport, SandboxCost } from '#src/ports/fleet/reports.ts';
import { itemKey, runId } from '#src/model/ids.ts';
import { recordOf } from './record.ts';
import { type Listed, type ReplyOf, type RunScript, scriptsOver } from './script-runner.ts';
import { itemsOf } from './scripts/contract.ts';
import { runName, runOf } from './keys.ts';
import { failureCodes, blameOf, type Blame, type FailureCode } from '#src/failure/codes.ts';
import type { Outcome } from '#src/model/outcome.ts';

/** The items of a report are the newest 2,000 of the run, its groups the newest 32 waves of each; counters are of the whole run. */
export function reportStore(run: RunScript): ReportStore {
  const { ask } = scriptsOver(run);
  return {
    cost: async () => [...pairsOf(itemsOf(await ask('list-cost', {})))].map(costOf),
    runs: async (tenant) => {
      const names = itemsOf(await ask('list-runs', { tenant: encodeURIComponent(tenant) }));
      return names.map((name) => runOf(name).run);
    },
    run: async (tenant, ofRun) => {
      const reply = await ask('report-run', { run: runName(tenant, ofRun) });
      return reply === null ? null : { tenant, run: runId(ofRun), ...reportOf(reply) };
    },
    groups: async (tenant, ofRun, items) =>
      itemsOf(await ask('report-groups', { run: runName(tenant, ofRun), items: [...items] })).map(groupOf),
    rollouts: async (tenant, ofRun, { verdict, code, item, cursor = '0' }) => {
      const page = await ask('list-rollouts', { run: runName(tenant, ofRun), verdict, code, item, cursor });
      return { rollouts: itemsOf(page.rollouts).map(recordOf), cursor: page.cursor ?? null };
    },
  };
}

function reportOf(reply: NonNullable<ReplyOf<'report-run'>>): Omit<RunReport, 'tenant' | 'run'> {
  const fields = pairsOf(reply.counters);
  const total = (name: string) => Number(fields.get(name) ?? 0);
  return {
    state: fields.get('state') === 'closed' ? 'closed' : 'open',
    rollouts: total('rollouts'),
    open: reply.open,
    scored: total('scored'),
    discarded: total('discarded'),
    voided: total('voided'),
    ...sumsOf(fields),
    items: itemsOf(reply.items).map(itemKey),
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
function groupOf(row: Listed<'report-groups'>): GroupReport {
  const { item, wave, n = 0, scored = 0, discarded = 0, codes, voided = 0, mean, best, m2 = 0 } = row;
  const scores = Number(scored);
  return {
    item: itemKey(item),
    wave,
    n: Number(n),
    scored: scores,
    discarded: Number(discarded),
    discards: countByBlame(Object.entries(codes)),
    voided: Number(voided),
    mean: mean === undefined ? null : Number(mean),
    best: best === undefined ? null : Number(best),
    spread: scores === 0 ? null : Math.sqrt(Number(m2) / scores),
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
  const counts: [string, number][] = [];
  for (const [field, text] of fields) {
    const [kind, name = ''] = field.split(':');
    if (kind === 'outcome') calls[name as Outcome] = Number(text);
    if (kind !== 'code') continue;
    counts.push([name, Number(text)]);
    if (isFailureCode(name)) codes[name] = Number(text);
  }
  return { calls, codes, blame: countByBlame(counts) };
}

function countByBlame(codes: Iterable<readonly [string, number]>): Partial<Record<Blame, number>> {
  const counts: Partial<Record<Blame, number>> = {};
  for (const [code, count] of codes) {
    const blame = blameOf(code);
    counts[blame] = (counts[blame] ?? 0) + count;
  }
  return counts;
}
