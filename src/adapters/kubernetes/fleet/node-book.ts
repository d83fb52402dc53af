import type { NodeView } from '../truth/node-view.ts';

/** The cluster's nodes as its watch tells them. One that was removed is remembered as not ready: its pods are still there. */
export type NodeBook = {
  readonly of: (name: string) => NodeView | null;
  /** Why not every pod can have ids of its own, wherever it comes to run; null where each can. */
  readonly withoutUserNamespaces: () => string | null;
  listed(views: readonly NodeView[]): readonly string[];
  changed(view: NodeView): readonly string[];
  removed(view: NodeView): readonly string[];
};

/** More nodes than an autoscaler removes while a pod of one of them still stands. */
const rememberedRemoved = 1_000;

/** Its methods return the names of the nodes that became ready or ceased to be, or whose taints changed. */
export function createNodeBook(): NodeBook {
  const nodes = new Map<string, NodeView>();
  const removed = new Set<string>();

  const put = (view: NodeView): readonly string[] => {
    const before = nodes.get(view.name);
    nodes.set(view.name, view);
    return isNews(before ?? healthy, view) ? [view.name] : [];
  };
  const remove = (view: NodeView): readonly string[] => {
    removed.add(view.name);
    if (removed.size > rememberedRemoved) forgetOldest();
    return put({ ...view, ready: false, why: 'the node was removed from the cluster' });
  };
  const forgetOldest = () => {
    for (const name of removed.values().take(1)) {
      removed.delete(name);
      nodes.delete(name);
    }
  };
  const changed = (view: NodeView) => {
    removed.delete(view.name);
    return put(view);
  };

  return {
    of: (name) => nodes.get(name) ?? null,
    withoutUserNamespaces: () => {
      const there = [...nodes.values()].filter(({ name }) => !removed.has(name));
      if (there.length === 0) return 'the nodes of the cluster are not known yet';
      const unable = there.find(({ userNamespaces }) => !userNamespaces);
      return unable === undefined
        ? null
        : `the container runtime of node ${unable.name} does not say that it can`;
    },
    changed,
    removed: remove,
    listed: (views) => {
      const there = new Set(views.map(({ name }) => name));
      const missing = [...nodes.values()].filter(({ name }) => !there.has(name) && !removed.has(name));
      return [...missing.flatMap(remove), ...views.flatMap(changed)];
    },
  };
}

/** What a node is taken for as long as nobody has told of it. */
const healthy: Pick<NodeView, 'ready' | 'keptOffBy'> = { ready: true, keptOffBy: [] };

const isNews = (before: typeof healthy, { ready, keptOffBy }: NodeView) =>
  before.ready !== ready || JSON.stringify(before.keptOffBy) !== JSON.stringify(keptOffBy);
