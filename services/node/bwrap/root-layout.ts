import { posix } from 'node:path';
import { Failure } from '#src/failure/failure.ts';

/** One name in a folder of the host. */
export type Entry =
  | { readonly name: string; readonly kind: 'folder' | 'file' }
  | { readonly name: string; readonly kind: 'link'; readonly to: string };

/** One step of building a sandbox's root, in order. */
export type RootStep =
  | { readonly kind: 'bind'; readonly source: string; readonly target: string }
  | { readonly kind: 'link'; readonly to: string; readonly target: string }
  | { readonly kind: 'folder'; readonly target: string };

export type ListFolder = (path: string) => readonly Entry[];

/**
 * How `source` becomes the sandbox's root, read-only, although other things are mounted inside it: bubblewrap cannot
 * make a mount point in a read-only folder, so each folder above such a `target` is made again and its entries are
 * bound one by one. Throws `start_failed` where a target lies below a link or a file.
 */
export function layOutRoot(
  source: string,
  targets: readonly string[],
  list: ListFolder,
  at = '/',
): readonly RootStep[] {
  return list(source).flatMap((entry) =>
    place(entry, posix.join(source, entry.name), posix.join(at, entry.name)),
  );

  function place(entry: Entry, from: string, target: string): readonly RootStep[] {
    // What is mounted there hides whatever the root has at the same place.
    if (targets.includes(target)) return [];
    const inner = targets.find((each) => each.startsWith(`${target}/`));
    if (inner !== undefined && entry.kind !== 'folder') throw unplaceable(inner, target, entry.kind);
    if (entry.kind === 'link') return [{ kind: 'link', to: entry.to, target }];
    if (inner === undefined) return [{ kind: 'bind', source: from, target }];
    return [{ kind: 'folder', target }, ...layOutRoot(from, targets, list, target)];
  }
}

/** Why nothing can be mounted at `inner`: the image has a link or a file at `target`, which is on the way. */
export function unplaceable(inner: string, target: string, kind: 'link' | 'file'): Failure {
  return new Failure(
    'start_failed',
    `${inner} cannot be mounted: ${target} is a ${kind} in the sandbox's root. Choose another target, or make it a folder.`,
    { evidence: { target: inner } },
  );
}
