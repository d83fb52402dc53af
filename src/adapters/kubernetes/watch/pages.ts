import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { refusal } from '../api/answer.ts';
import type { Api } from '../api/calls.ts';

/** Which objects: a collection's path, what it is counted as, and the label selector, if any. */
export type Collection = {
  readonly resource: string;
  readonly path: string;
  readonly labelSelector: string | null;
};

/** Some 3 MB of pods in one answer; the API server's own clients read as many at a time. */
const pageSize = '500';

/** A list that expires while it is read (etcd compacted it) is begun again, but not for ever. */
const mostBeginnings = 3;

const ListObject = Type.Object({
  metadata: Type.Object({ resourceVersion: Type.String(), continue: Type.Optional(Type.String()) }),
  items: Type.Array(Type.Unknown()),
});

export type Listed<View> = { readonly version: string; readonly views: readonly View[] };

/**
 * All objects of a collection, read in pages and turned into views page by page, so that never more than a page of
 * whole objects is in memory. The version is where a watch goes on. Throws `Failure`.
 */
export async function listAll<View>(
  api: Api,
  collection: Collection,
  viewOf: (object: unknown) => View | null,
): Promise<Listed<View>> {
  for (let beginning = 1; ; beginning += 1) {
    const listed = await readPages(api, collection, viewOf, beginning === mostBeginnings);
    if (listed !== 'expired') return listed;
  }
}

async function readPages<View>(
  api: Api,
  collection: Collection,
  viewOf: (object: unknown) => View | null,
  lastTry: boolean,
): Promise<Listed<View> | 'expired'> {
  const views: View[] = [];
  let next = '';
  for (;;) {
    const answer = await api.call({
      verb: 'list',
      resource: collection.resource,
      path: collection.path,
      query: { limit: pageSize, ...selectorOf(collection), ...(next === '' ? {} : { continue: next }) },
    });
    if (answer.status === 410 && !lastTry) return 'expired';
    if (answer.status !== 200 || !Value.Check(ListObject, answer.value)) {
      throw refusal(`list ${collection.resource}`, answer);
    }
    const { metadata, items } = answer.value;
    views.push(...items.map(viewOf).filter((view) => view !== null));
    next = metadata.continue ?? '';
    // Every page of one list has the version of the first.
    if (next === '') return { version: metadata.resourceVersion, views };
  }
}

export function selectorOf({ labelSelector }: Collection): Readonly<Record<string, string>> {
  return labelSelector === null ? {} : { labelSelector };
}
