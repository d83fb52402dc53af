import { createHash } from 'node:crypto';
import type { FailureCode } from '#src/failure/codes.ts';
import { Failure } from '#src/failure/failure.ts';
import { environmentName, sandboxId, templateDigest } from '#src/model/ids.ts';
import type { RolloutKey } from '#src/model/rollout.ts';
import type {
  Breaker,
  KnownSandbox,
  Launch,
  PoolStore,
  PoolTarget,
  Reserved,
  TemplateCounts,
} from '#src/ports/fleet/pool.ts';
import { choose } from './environment-store.ts';
import { type Keys, runName } from './keys.ts';
import type { Messages } from './connection.ts';
import { type Listed, type ReplyOf, type RunScript, scriptsOver, textOrNull } from './script-runner.ts';
import { itemsOf } from './scripts/contract.ts';

/** What a person reads of a failed start; the rest is in the controller's log. */
const messageMaxChars = 500;
/** By which failures are told apart. */
const reasonMaxChars = 240;

/**
 * A plan of thousands of templates is told once, by name, and not with every reservation; fleet state keeps it for a minute, and
 * says when it has it no more.
 */
export function poolStore(run: RunScript, keys: Keys, messages: Messages): PoolStore {
  const { ask } = scriptsOver(run);
  return {
    counts: async (templates) => itemsOf(await ask('counts', { templates: [...templates] })).map(countsOf),
    knownTemplates: async () => itemsOf(await ask('known-templates', {})).map(templateDigest),
    reserve: async (sandboxes, targets, startBudget, startTimeoutMs) => {
      const slots = pullSlots(startBudget);
      const { digest: plan, entries } = planOf(targets);
      const asked = { sandboxes: [...sandboxes], startBudget, startTimeoutMs, slots, plan };
      const reply = await ask('reserve', asked);
      if (reply.kind !== 'no_plan') return reservedOf(reply);
      await ask('keep-plan', { plan, targets: [...entries] });
      return reservedOf(await ask('reserve', asked));
    },
    starts: async (forMs) => itemsOf(await ask('starts', { forMs })).map(launchOf),
    lookAt: async (templates) => {
      if (templates.length > 0) await ask('look-at', { templates: [...templates] });
    },
    ready: async (sandbox, boot, address) =>
      (await ask('ready', { sandbox, boot, address })) as RolloutKey | null,
    launchFailed: async (sandbox, code, message, reason) => {
      const asked = { sandbox, code, message: message.slice(0, messageMaxChars) };
      await ask('launch-failed', { ...asked, reason: (reason ?? '').slice(0, reasonMaxChars) });
    },
    overdueLaunches: async () => itemsOf(await ask('overdue-launches', {})).map(sandboxId),
    takeErrands: async (errand, sandboxes) =>
      sandboxes.length === 0
        ? []
        : itemsOf(await ask('take-errands', { errand, sandboxes: [...sandboxes] })).map(sandboxId),
    draining: async (limit) => itemsOf(await ask('draining', { limit })).map(sandboxId),
    announce: async (template, { tenant, run: ofRun, count, lifeMs, chosen }) => {
      if (chosen !== undefined) await choose(ask, template, chosen);
      const asked = { template, run: runName(tenant, ofRun), count, lifeMs: Math.round(lifeMs) };
      const untilMs = await ask('announce', asked);
      if (untilMs === null) throw tooManyAnnounce();
      return untilMs;
    },
    withdraw: (sandbox, why) => ask('withdraw-sandbox', { sandbox, why }),
    retire: (template, maxAgeMs, keepReady) => ask('retire', { template, maxAgeMs, keepReady }),
    forget: async (sandbox) => {
      await ask('forget', { sandbox });
    },
    known: async (sandboxes) => {
      const asked = { sandboxes: sandboxes === undefined ? undefined : [...sandboxes] };
      const rows = itemsOf(await ask('known-sandboxes', asked)).map(movedRow);
      return new Map(rows.flatMap(([sandbox, known]) => (known === null ? [] : [[sandbox, known]])));
    },
    moved: async (place, portion) => {
      const { sandboxes, ...moved } = await ask('moved-sandboxes', { place, portion });
      return { ...moved, sandboxes: itemsOf(sandboxes).map(movedRow) };
    },
    onWork: (listener) => messages.listen(keys('work'), () => listener()),
  };
}

type Plan = {
  readonly digest: string;
  readonly entries: readonly { readonly template: string; readonly target: string }[];
};

/** By the list itself: it is another one whenever anything in it is another, and hashing thousands is not for each launch. */
const plansKnown = new WeakMap<readonly PoolTarget[], Plan>();

/**
 * How many of the start slots images that dataset rows name may hold. There may be thousands, and no person has looked at
 * any of them: a pull may be slow or never end, and holds its slot meanwhile. Half is always for what is known to start.
 */
type PullSlots = {
  /** Of one image until one of its sandboxes stands. */
  readonly first: number;
  /** Of one image after that. */
  readonly later: number;
  /** Of all together of which none stands yet. */
  readonly unproven: number;
};

function pullSlots(startBudget: number): PullSlots {
  const share = (part: number) => Math.max(1, Math.floor(part * startBudget));
  return { first: share(1 / 4), later: share(1 / 2), unproven: share(1 / 2) };
}

/** All targets as `reserve` reads them, and the name under which fleet state keeps them. */
function planOf(targets: readonly PoolTarget[]): Plan {
  const known = plansKnown.get(targets);
  if (known !== undefined) return known;
  const entries = targets.map((target) => ({ template: target.template, target: targetText(target) }));
  const digest = createHash('sha256').update(JSON.stringify(entries)).digest('hex').slice(0, 16);
  const plan = { digest, entries };
  plansKnown.set(targets, plan);
  return plan;
}

function targetText({ minReady, max, weight = 1, forGraders = 0, ...names }: PoolTarget): string {
  const { chosenFor = '-', group = '-', environment = 'unknown' } = names;
  return [minReady, max, weight, forGraders, chosenFor, group, environment].join(' ');
}

const tooManyAnnounce = () =>
  new Failure(
    'line_full',
    'too many runs announce bursts of this template; open rollouts without announcing',
  );

function countsOf(row: Listed<'counts'>): TemplateCounts {
  const { template, breaker, lastFailure, ...counts } = row;
  return {
    ...counts,
    template: templateDigest(template),
    breaker: breaker as Breaker,
    lastFailure: lastFailure === undefined ? null : { ...lastFailure, code: lastFailure.code as FailureCode },
  };
}

/** A plan that was kept a moment ago is gone only with all of fleet state: then nothing is reserved. */
function reservedOf(reply: ReplyOf<'reserve'>): Reserved {
  if (reply.kind === 'no_plan') return { launches: [], starting: 0, isUnplanned: false };
  const { launches, starting, isUnplanned } = reply;
  return { launches: itemsOf(launches).map(launchOf), starting, isUnplanned };
}

function launchOf({ sandbox, template, environment, reason, run }: Listed<'starts'>): Launch {
  return {
    sandbox: sandboxId(sandbox),
    template: templateDigest(template),
    environment: environmentName(environment),
    reason: reason as Launch['reason'],
    run: run ?? null,
  };
}

/** One that is forgotten has no phase. */
function movedRow(row: Listed<'known-sandboxes'>) {
  const { sandbox, phase, sinceMs = 0, template = '', journalUnread = false } = row;
  const owner = textOrNull(row.owner) as RolloutKey | null;
  const known: KnownSandbox | null =
    phase === undefined ? null : { phase, sinceMs, owner, template: templateDigest(template), journalUnread };
  return [sandboxId(sandbox), known] as const;
}
