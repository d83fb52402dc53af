import { createHash } from 'node:crypto';
import type { FailureCode } from '#src/failure/codes.ts';
import { Failure } from '#src/failure/failure.ts';
import { sandboxId, templateDigest } from '#src/model/ids.ts';
import { pullSlots } from '#src/model/pull-slots.ts';
import type { RolloutKey } from '#src/model/rollout.ts';
import type {
  Breaker,
  KnownSandbox,
  LaunchReservation,
  Moved,
  PoolStore,
  PoolTarget,
  TemplateCounts,
} from '#src/ports/fleet/pool.ts';
import { choose } from './environment-store.ts';
import { type Keys, runName } from './keys.ts';
import type { Messages } from './connection.ts';
import { listOf, numberOf, textOf, textOrNull, type Reply, type RunScript } from './script-runner.ts';

/** What a person reads of a failed start; the rest is in the controller's log. */
const messageMaxChars = 500;
/** By which failures are told apart. */
const reasonMaxChars = 240;

/**
 * A plan of thousands of templates is told once, by name, and not with every reservation; fleet state keeps it for a minute, and
 * says when it has it no more.
 */
export function poolStore(run: RunScript, keys: Keys, messages: Messages): PoolStore {
  return {
    counts: async (templates) => listOf(await run('counts', ...templates)).map(countsOf),
    knownTemplates: async () =>
      listOf(await run('known-templates')).map((name) => templateDigest(textOf(name))),
    reserve: async (ticket, sandbox, targets, startBudget, startTimeoutMs) => {
      const { first, later, unproven } = pullSlots(startBudget);
      const plan = planOf(targets);
      const reserve = () =>
        run('reserve', ticket, sandbox, startBudget, startTimeoutMs, first, later, unproven, plan.digest);
      const reply = await reserve();
      if (reply !== 'no plan') return reservationOf(reply);
      await run('keep-plan', plan.digest, ...plan.entries);
      return reservationOf(await reserve());
    },
    demand: async () => {
      const [starting, templates] = listOf(await run('demand'));
      const names = listOf(templates).map((name) => templateDigest(textOf(name)));
      return { starting: numberOf(starting), templates: new Set(names) };
    },
    lookAt: async (templates) => {
      if (templates.length > 0) await run('look-at', ...templates);
    },
    ready: async (sandbox, boot, address) =>
      textOrNull(await run('ready', sandbox, boot, address)) as RolloutKey | null,
    launchFailed: async (sandbox, code, message, reason) => {
      const told = [message.slice(0, messageMaxChars), (reason ?? '').slice(0, reasonMaxChars)];
      await run('launch-failed', sandbox, code, ...told);
    },
    overdueLaunches: async () => sandboxesOf(await run('overdue-launches')),
    takeErrands: async (errand, sandboxes) =>
      sandboxes.length === 0 ? [] : sandboxesOf(await run('take-errands', errand, ...sandboxes)),
    draining: async (limit) => sandboxesOf(await run('draining', limit)),
    announce: async (template, { tenant, run: ofRun, count, lifeMs, chosen }) => {
      if (chosen !== undefined) await choose(run, template, chosen);
      const untilMs = await run('announce', template, runName(tenant, ofRun), count, Math.round(lifeMs));
      if (untilMs === null) throw tooManyAnnounce();
      return numberOf(untilMs);
    },
    withdraw: async (sandbox, why) => numberOf(await run('withdraw-sandbox', sandbox, why)) === 1,
    retire: async (template, maxAgeMs, keepReady) =>
      numberOf(await run('retire', template, maxAgeMs, keepReady)),
    forget: async (sandbox) => {
      await run('forget', sandbox);
    },
    known: async (sandboxes) =>
      sandboxes?.length === 0
        ? new Map()
        : new Map(listOf(await run('known-sandboxes', ...(sandboxes ?? []))).map(knownOf)),
    moved: async (place, portion) => movedOf(await run('moved-sandboxes', place, portion)),
    onWork: (listener) => messages.listen(keys('work'), () => listener()),
  };
}

type Plan = { readonly digest: string; readonly entries: readonly string[] };

/** By the list itself: it is another one whenever anything in it is another, and hashing thousands is not for each launch. */
const plansKnown = new WeakMap<readonly PoolTarget[], Plan>();

/** All targets as `reserve` reads them, and the name under which fleet state keeps them. */
function planOf(targets: readonly PoolTarget[]): Plan {
  const known = plansKnown.get(targets);
  if (known !== undefined) return known;
  const entries = targets.flatMap(({ template, minReady, max, chosenFor = '-', environment = 'unknown' }) => [
    template,
    `${minReady} ${max} ${chosenFor} ${environment}`,
  ]);
  const digest = createHash('sha256').update(entries.join('\n')).digest('hex').slice(0, 16);
  const plan = { digest, entries };
  plansKnown.set(targets, plan);
  return plan;
}

const tooManyAnnounce = () =>
  new Failure(
    'line_full',
    'too many runs announce bursts of this template; open rollouts without announcing',
  );

function countsOf(row: Reply): TemplateCounts {
  const [template, ready, launching, held, waiting, oldest, announced, ...start] = listOf(row);
  const [breaker, code, message, atMs] = start;
  const failed = textOrNull(code);
  return {
    template: templateDigest(textOf(template)),
    ready: numberOf(ready),
    launching: numberOf(launching),
    held: numberOf(held),
    waiting: numberOf(waiting),
    oldestWaitMs: numberOf(oldest),
    announced: numberOf(announced),
    breaker: textOf(breaker) as Breaker,
    lastFailure:
      failed === null
        ? null
        : { code: failed as FailureCode, message: textOrNull(message) ?? '', atMs: numberOf(atMs) },
  };
}

function reservationOf(reply: Reply): LaunchReservation | null {
  if (reply === null) return null;
  const [sandbox, template, reason, ofRun] = listOf(reply);
  return {
    sandbox: sandboxId(textOf(sandbox)),
    template: templateDigest(textOf(template)),
    reason: textOf(reason) as LaunchReservation['reason'],
    run: textOf(ofRun) === '' ? null : textOf(ofRun),
  };
}

const sandboxesOf = (reply: Reply) => listOf(reply).map((name) => sandboxId(textOf(name)));

function knownOf(row: Reply) {
  const [sandbox, phase, sinceMs, owner, template] = listOf(row);
  const known: KnownSandbox = {
    phase: textOf(phase),
    sinceMs: numberOf(sinceMs),
    owner: textOrNull(owner) as RolloutKey | null,
    template: templateDigest(textOf(template)),
  };
  return [sandboxId(textOf(sandbox)), known] as const;
}

function movedOf(reply: Reply): Moved {
  const [place, startsOver, isWhole, isBehind, rows] = listOf(reply);
  return {
    place: textOf(place),
    startsOver: numberOf(startsOver) === 1,
    isWhole: numberOf(isWhole) === 1,
    isBehind: numberOf(isBehind) === 1,
    sandboxes: listOf(rows).map((row) => {
      const [sandbox, phase] = listOf(row);
      return phase === null ? ([sandboxId(textOf(sandbox)), null] as const) : knownOf(row);
    }),
  };
}
