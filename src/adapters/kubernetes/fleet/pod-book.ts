import type { LossCause } from '#src/failure/codes.ts';
import type { Evidence } from '#src/failure/failure.ts';
import { mayBePolicys } from '#src/failure/verdict.ts';
import type { SandboxId } from '#src/model/ids.ts';
import type { ProviderEvent } from '#src/ports/sandbox-provider.ts';
import { leavingOf, type NodeView } from '../truth/node-view.ts';
import { type PodView, providedOf } from './pod-view.ts';

/**
 * The fleet's pods as one watch has told them, and what its watcher must hear of each change:
 *
 *   starting ──▶ running ◀──▶ doubted        (running and trusted are told, doubted is told)
 *      └────────────┴────────────┴──▶ gone   (told once; the pod stays in the book until its object is deleted)
 *
 * Beside it, `leaving` is told once of each that will not stay where it is, whether it starts, runs or is doubted.
 * A pod of the same name with another uid is another pod: the first is gone, and the second is nobody's sandbox.
 */
export type PodBook = {
  listed(views: readonly PodView[]): readonly ProviderEvent[];
  changed(view: PodView): readonly ProviderEvent[];
  deleted(view: PodView): readonly ProviderEvent[];
  /** The node is ready or no longer so, or its taints are others. */
  nodeChanged(name: string): readonly ProviderEvent[];
  get(sandbox: SandboxId): PodView | null;
  all(): readonly PodView[];
};

export function createPodBook(nodeOf: (name: string) => NodeView | null): PodBook {
  const views = new Map<SandboxId, PodView>();
  const doubted = new Map<SandboxId, LossCause>();
  const leaving = new Set<SandboxId>();

  const prospects = (view: PodView): readonly ProviderEvent[] => {
    const node = view.node === null ? null : nodeOf(view.node);
    return [...leavingEvents(view, node), ...doubtEvents(view, node)];
  };
  const leavingEvents = (view: PodView, node: NodeView | null): readonly ProviderEvent[] => {
    const why = whyLeaving(view, node);
    const isTold = leaving.has(view.sandbox);
    if (why === null) leaving.delete(view.sandbox);
    else leaving.add(view.sandbox);
    return why === null || isTold ? [] : [{ kind: 'leaving', sandbox: view.sandbox, why }];
  };
  const doubtEvents = (view: PodView, node: NodeView | null): readonly ProviderEvent[] => {
    const doubt = doubtOf(view, node);
    const before = doubted.get(view.sandbox);
    if (doubt === null) {
      doubted.delete(view.sandbox);
      const over = before !== undefined && view.phase === 'running';
      return over ? [{ kind: 'trusted', sandbox: view.sandbox }] : [];
    }
    doubted.set(view.sandbox, doubt.cause);
    return before === doubt.cause ? [] : [doubt];
  };
  const gone = ({ sandbox, node, ending }: PodView): ProviderEvent => {
    doubted.delete(sandbox);
    leaving.delete(sandbox);
    const { cause, evidence } = ending;
    const isNodes = cause === 'node_lost';
    const whole = isNodes ? withWitness(evidence, node === null ? null : nodeOf(node)) : evidence;
    return { kind: 'gone', sandbox, cause, evidence: whole };
  };

  const changed = (shown: PodView): readonly ProviderEvent[] => {
    const before = views.get(shown.sandbox);
    const view = asMarked(shown, before);
    if (before !== undefined && before.uid !== view.uid) {
      views.set(view.sandbox, replaced(view));
      return before.phase === 'gone' ? [] : [gone(replaced(view, before))];
    }
    if (before?.phase === 'gone') return [];
    views.set(view.sandbox, view);
    if (view.phase === 'gone') return [gone(view)];
    return [...(before?.phase === 'running' ? [] : runningEvents(view)), ...prospects(view)];
  };
  const deleted = (shown: PodView): readonly ProviderEvent[] => {
    const before = views.get(shown.sandbox);
    const view = asMarked(shown, before);
    if (before !== undefined && before.uid !== view.uid) return [];
    views.delete(view.sandbox);
    return before?.phase === 'gone' ? [] : [gone(view)];
  };
  const listed = (all: readonly PodView[]): readonly ProviderEvent[] => {
    const there = new Set(all.map(({ sandbox }) => sandbox));
    const vanished = [...views.values()].filter(({ sandbox }) => !there.has(sandbox)).flatMap(deleted);
    const events = all.flatMap(changed);
    return [
      ...vanished,
      ...events.filter(({ kind }) => kind === 'gone'),
      { kind: 'listed', sandboxes: providedOf([...views.values()]) },
      // What runs is in the list.
      ...events.filter(({ kind }) => kind === 'leaving' || kind === 'doubted' || kind === 'trusted'),
    ];
  };

  return {
    listed,
    changed,
    deleted,
    nodeChanged: (name) => [...views.values()].filter(({ node }) => node === name).flatMap(prospects),
    get: (sandbox) => views.get(sandbox) ?? null,
    all: () => [...views.values()],
  };
}

function runningEvents({ sandbox, phase, address }: PodView): readonly ProviderEvent[] {
  return phase === 'running' && address !== null ? [{ kind: 'running', sandbox, address }] : [];
}

/** Somebody made a pod of our sandbox's name: ours is lost with all that ran in it, and what is not of our making is never used. */
function replaced(view: PodView, before = view): PodView {
  const evidence: Evidence = { ...before.ending.evidence, replacedByUid: view.uid };
  return { ...view, phase: 'gone', address: null, ending: { cause: 'pod_replaced', evidence } };
}

/**
 * A pod that was taken off its node because nobody heard of the node: it goes when the node is back, and then looks as if
 * somebody had wanted a healthy node empty.
 */
function asMarked(view: PodView, before: PodView | undefined): PodView {
  if (before?.marked !== 'node_lost' || !wantedEmpty.has(view.ending.cause)) return view;
  const marked = view.marked === null ? null : 'node_lost';
  return { ...view, marked, ending: { ...view.ending, cause: 'node_lost' } };
}

const wantedEmpty: ReadonlySet<LossCause> = new Set(['evicted', 'node_drained']);

/** It shall have no new rollout; one that it has goes on until somebody takes the pod away. */
function whyLeaving({ phase, marked, tolerations }: PodView, node: NodeView | null): string | null {
  if (phase === 'gone') return null;
  if (marked !== null) return 'its pod is marked for deletion';
  if (node === null) return null;
  return node.ready ? leavingOf(tolerations, node.keptOffBy) : 'its node is not ready';
}

type Doubted = Extract<ProviderEvent, { kind: 'doubted' }>;

/** A running sandbox may be lost while its pod is marked for deletion, or while its node is not ready. */
function doubtOf(
  { sandbox, phase, address, marked, ending }: PodView,
  node: NodeView | null,
): Doubted | null {
  if (phase !== 'running' || address === null) return null;
  const about = { kind: 'doubted', sandbox, address } as const;
  if (node !== null && !node.ready) {
    const evidence = { ...ending.evidence, nodeReady: false, nodeSays: node.why };
    const cause = marked === null ? 'node_lost' : nodeCause(marked);
    return { ...about, cause, evidence: cause === 'node_lost' ? withWitness(evidence, node) : evidence };
  }
  if (marked === null) return null;
  const evidence = marked === 'node_lost' ? withWitness(ending.evidence, node) : ending.evidence;
  return { ...about, cause: marked, evidence };
}

/**
 * A silent node may have been taken down by one of its pods: their sockets, and files without names, count for no limit. Other
 * pods cannot acquit it, since policies run in them. So the loss is marked unless the machine was shut down in order.
 */
function withWitness(evidence: Evidence, node: NodeView | null): Evidence {
  const shutDownBy = node?.shutDownBy ?? null;
  return shutDownBy === null ? { ...mayBePolicys, ...evidence } : { ...evidence, nodeShutDownBy: shutDownBy };
}

// Whoever clears a dead node away deletes its pods without a reason: the node is the cause.
const nodeCause = (marked: LossCause): LossCause => (marked === 'deleted' ? 'node_lost' : marked);
