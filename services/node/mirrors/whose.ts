import { readFileSync } from 'node:fs';

/** Whose a request is: the grader's, or that of any other user of the sandbox. */
export type Whose = 'policy' | 'grader';

/** The other end of a connection, as the kernel of both has it. */
export type Peer = { readonly remoteAddress?: string | undefined; readonly remotePort?: number | undefined };

/**
 * Which user of a sandbox made a connection, by the kernel's table of its network: nothing in the sandbox can write it. `pid` is a
 * process there, `graderId` this machine's id of its grader. A connection that is over has no user, and is not the grader's.
 */
export function whoseConnection(pid: number, graderId: number, { remoteAddress, remotePort }: Peer): Whose {
  if (remoteAddress === undefined || remotePort === undefined) return 'policy';
  const address = remoteAddress.replace('::ffff:', '');
  const ends = `${hexOf(address)}:${remotePort.toString(16).toUpperCase().padStart(4, '0')}`;
  const places = [
    ['tcp', ends],
    // Of a program that uses IPv6 for both.
    ['tcp6', `0000000000000000FFFF0000${ends}`],
  ] as const;
  return places.some(([table, end]) => userIn(`/proc/${pid}/net/${table}`, end) === graderId)
    ? 'grader'
    : 'policy';
}

/** As the kernel writes it on machines whose numbers begin with the lowest byte: x64 and arm64. */
const hexOf = (address: string) =>
  address
    .split('.')
    .map((part) => Number(part).toString(16).toUpperCase().padStart(2, '0'))
    .toReversed()
    .join('');

function userIn(table: string, end: string): number | null {
  try {
    return userOf(readFileSync(table, 'latin1'), end);
  } catch {
    return null;
  }
}

/** Columns: number, own end, other end, state, queues, timers, retransmissions, user. */
export function userOf(table: string, end: string): number | null {
  const at = table.indexOf(`: ${end} `);
  if (at === -1) return null;
  const columns = table
    .slice(at + 2, table.indexOf('\n', at))
    .split(' ')
    .filter((each) => each !== '');
  return Number(columns[6]);
}
