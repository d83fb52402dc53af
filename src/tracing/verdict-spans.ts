import { failures } from '../failure/codes.ts';
import type { Verdict } from '../failure/verdict.ts';
import { ownerOf, type RolloutKey } from '../model/rollout.ts';
import type { FleetEvent } from '../ports/event-log.ts';
import type { LifecycleStore } from '../ports/fleet/lifecycle.ts';
import type { RolloutRecord } from '../ports/fleet/records.ts';
import type { Attributes, Span, Tracer } from '../ports/tracer.ts';
import { launchRoot, rolloutRoot } from './names.ts';

/** Writes the root span of a rollout whose verdict is told, by whomever: its ids are the rollout's own. */
export function verdictSpans(tracer: Tracer): (event: FleetEvent) => void {
  return (event) => {
    if (!tracer.on || event.kind !== 'verdict') return;
    const { key, environment, version, verdict, suspected, openedAtMs = event.atMs } = event;
    const span = startRollout(tracer, key, openedAtMs, {
      'corral.environment': environment,
      'corral.version': version.slice(0, shownDigits),
      ...(suspected !== null && { 'corral.suspected': suspected }),
    });
    conclude(span, verdict, event.atMs);
  };
}

/** Of a digest, as in metrics and logs. */
const shownDigits = 12;

function startRollout(tracer: Tracer, key: RolloutKey, startMs: number, more: Attributes): Span {
  const { tenant, run, rollout, attempt } = ownerOf(key);
  const attributes = {
    'corral.tenant': tenant,
    'corral.run': run,
    'corral.rollout': rollout,
    'corral.attempt': attempt,
    ...more,
  };
  return tracer.start('rollout', { self: rolloutRoot(key), startMs, attributes });
}

function conclude(span: Span, verdict: Verdict, atMs: number): void {
  span.set({ 'corral.verdict': verdict.kind });
  if (verdict.kind === 'discard') {
    span.fail(verdict.code, failures[verdict.code].blame);
    if (verdict.cause !== undefined) span.set({ 'corral.cause': verdict.cause });
  }
  span.end(atMs);
}

/** The same store, whose losses are spans, and which writes the root of a rollout that ends without any verdict. */
export function tracedLifecycle(lifecycle: LifecycleStore, tracer: Tracer): LifecycleStore {
  if (!tracer.on) return lifecycle;
  return {
    ...lifecycle,
    lose: async (sandbox, boot, cause, evidence) => {
      const startMs = tracer.nowMs();
      const effect = await lifecycle.lose(sandbox, boot, cause, evidence);
      if (effect.kind !== 'none') {
        const attributes = { 'corral.sandbox': sandbox, 'corral.cause': cause, 'corral.effect': effect.kind };
        const [parent, links] = [rolloutRoot(effect.rollout.key), [launchRoot(sandbox)]];
        const span = tracer.start('lose', { parent, links, attributes, startMs });
        if (effect.kind === 'tainted') span.fail('sandbox_lost', failures.sandbox_lost.blame);
        if (effect.kind === 'broken') span.fail('sandbox_broken', 'model');
        span.end();
      }
      return effect;
    },
    close: async (key, by) => {
      const rollout = await lifecycle.close(key, by);
      if (rollout !== null && isUntold(rollout)) closed(tracer, rollout);
      return rollout;
    },
  };
}

const isUntold = ({ verdict }: RolloutRecord) => verdict === 'open' || verdict === 'broken';

/** A repeat writes the same span again, to the millisecond. */
function closed(tracer: Tracer, rollout: RolloutRecord): void {
  const { key, environment, placedAtMs, closedAtMs, closedBy } = rollout;
  const span = startRollout(tracer, key, placedAtMs, {
    'corral.environment': environment,
    'corral.verdict': 'scorable',
    ...(closedBy !== null && { 'corral.closed_by': closedBy }),
  });
  span.end(closedAtMs ?? undefined);
}
