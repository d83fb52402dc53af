import { idsInRange } from '../own-ids.ts';
import { policyId } from './places.ts';

/*
 * Whose files an image's are in a sandbox whose root is an overlay: user N of the image is user N of the sandbox, but the image's USER
 * and 1000 change places. So commands, which have the id 1000, own what the image's user owns.
 */

/** The ids that the commands' user has in an image. */
export type ImageUser = { readonly uid: number; readonly gid: number };

/** An id of the image, inside. `ofUser`: the image's id of the commands' user. */
export function exchanged(id: number, ofUser: number): number {
  if (id === ofUser) return policyId;
  return id === policyId ? ofUser : id;
}

/** The owner of a file of the image, inside. An id that a sandbox does not have is 65534, as the kernel shows it. */
export const ownerInside = (id: number, ofUser: number): number =>
  id < idsInRange ? exchanged(id, ofUser) : idsInRange - 2;

/** A user namespace's map of the image's ids to this machine's. `base`: this machine's id of the sandbox's user 0. */
export function idMap(base: number, ofUser: number): string {
  const low = Math.min(ofUser, policyId);
  const high = Math.max(ofUser, policyId);
  const ranges = [
    { first: 0, inside: 0, end: low },
    { first: low, inside: high, end: low + 1 },
    { first: low + 1, inside: low + 1, end: high },
    { first: high, inside: low, end: high + 1 },
    { first: high + 1, inside: high + 1, end: idsInRange },
  ];
  const whole = [{ first: 0, inside: 0, end: idsInRange }];
  const lines = (low === high ? whole : ranges).map(
    ({ first, inside, end }) => [first, base + inside, end - first] as const,
  );
  return lines.flatMap((line) => (line[2] > 0 ? [`${line.join(' ')}\n`] : [])).join('');
}
