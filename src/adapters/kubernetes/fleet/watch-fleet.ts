import type { ProviderEvent } from '#src/ports/sandbox-provider.ts';
import type { Api, ApiOptions } from '../api/calls.ts';
import { nodeView } from '../truth/node-view.ts';
import type { Collection } from '../watch/collection.ts';
import { follow } from '../watch/follow.ts';
import { createInquests, type Inquests, readShortages } from './inquests.ts';
import type { NodeBook } from './node-book.ts';
import { createPodBook, type PodBook } from './pod-book.ts';
import type { PodView } from './pod-view.ts';

export type FleetWatch = {
  readonly options: ApiOptions;
  readonly api: Api;
  readonly pods: Collection;
  readonly nodes: NodeBook;
  readonly viewOf: (object: unknown) => PodView | null;
  readonly onEvent: (event: ProviderEvent) => void;
  /** Every pod as the watch shows it, before its events. */
  readonly onPod: (view: PodView) => void;
  /** The book as far as the watch has come; null while it is behind, and nobody knows how far. */
  readonly onInStep: (book: PodBook | null) => void;
  readonly onTrouble: (resource: string, thrown: unknown) => void;
};

const nodesOfCluster: Collection = { resource: 'nodes', path: '/api/v1/nodes', labelSelector: null };

/** One watch of the fleet's pods and one of the nodes they run on, joined in one book, until the signal aborts. */
export async function watchFleet(watch: FleetWatch, signal: AbortSignal): Promise<void> {
  const { api, options } = watch;
  const book = createPodBook(watch.nodes.of);
  const shortagesOf = (node: string) => readShortages(api, node);
  const inquests = createInquests({ clock: options.clock, shortagesOf });
  await Promise.all([
    followNodes(watch, book, signal),
    followPods(watch, book, inquests, signal),
    concludeAll(watch, book, inquests, signal),
  ]);
  watch.onInStep(null);
}

function followPods(
  watch: FleetWatch,
  book: PodBook,
  inquests: Inquests,
  signal: AbortSignal,
): Promise<void> {
  const { options, api, pods, viewOf, onPod, onInStep, onTrouble } = watch;
  const heard = (views: readonly PodView[], events: () => readonly ProviderEvent[]) => {
    views.forEach(onPod);
    events().forEach(watch.onEvent);
    onInStep(book);
  };
  const shown = (views: readonly PodView[]) =>
    views.map((view) => inquests.shown(view, book.get(view.sandbox))).filter((view) => view !== null);
  return follow<PodView>(
    options,
    api,
    pods,
    {
      viewOf,
      onListed: (all) => {
        inquests.keepOnly(all);
        const views = shown(all);
        heard(views, () => book.listed(views));
      },
      onChanged: (view) => {
        const views = shown([view]);
        heard(views, () => views.flatMap((view) => book.changed(view)));
      },
      onDeleted: (view) => {
        const last = inquests.closed(view);
        heard([last], () => book.deleted(last));
      },
      onTrouble: (thrown) => {
        onInStep(null);
        onTrouble('pods', thrown);
      },
    },
    signal,
  );
}

/** How soon an end that was kept back is looked into after its time has come; it waits for seconds. */
const concludeEveryMs = 500;

async function concludeAll(
  { options, onPod, onEvent }: FleetWatch,
  book: PodBook,
  inquests: Inquests,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const views = await inquests.conclude();
    views.forEach(onPod);
    views.flatMap((view) => book.changed(view)).forEach(onEvent);
    await options.clock.sleep(concludeEveryMs, signal);
  }
}

function followNodes(watch: FleetWatch, book: PodBook, signal: AbortSignal): Promise<void> {
  const { options, api, nodes, onEvent, onTrouble } = watch;
  const heard = (names: readonly string[]) =>
    names.flatMap((name) => book.nodeChanged(name)).forEach(onEvent);
  return follow(
    options,
    api,
    nodesOfCluster,
    {
      viewOf: nodeView,
      onListed: (views) => heard(nodes.listed(views)),
      onChanged: (view) => heard(nodes.changed(view)),
      onDeleted: (view) => heard(nodes.removed(view)),
      onTrouble: (thrown) => onTrouble('nodes', thrown),
    },
    signal,
  );
}
