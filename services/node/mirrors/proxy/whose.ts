import { readSync } from 'node:fs';

/** Whose a request is: the grader's, or that of any other user of the sandbox. `unknown`: the connection has no user any more. */
export type Whose = 'policy' | 'grader' | 'unknown';

/** Both ends of a connection: the sandbox's own, and the mirrors'. */
export type Ends = {
  readonly remoteAddress?: string | undefined;
  readonly remotePort?: number | undefined;
  readonly localAddress?: string | undefined;
  readonly localPort?: number | undefined;
};

/**
 * Which user of a sandbox made a connection, by the kernel's tables of its network: nothing in the sandbox can write them. Both ends are
 * compared, because programs can have several connections from one port. `graderId`: this machine's id of its grader.
 */
export function whoseConnection(tables: readonly number[], graderId: number, ends: Ends): Whose {
  const { remoteAddress, remotePort, localAddress, localPort } = ends;
  if (!remoteAddress || !localAddress || remotePort === undefined || localPort === undefined)
    return 'unknown';
  const own = endOf(remoteAddress, remotePort);
  const other = endOf(localAddress, localPort);
  const [table4 = 0, table6 = 0] = tables;
  const user = userIn(table4, `: ${own} ${other} `) ?? userIn(table6, `: ${mapped}${own} ${mapped}${other} `);
  if (user === null) return 'unknown';
  return user === graderId ? 'grader' : 'policy';
}

/** Of a program that uses IPv6 for both. */
const mapped = '0000000000000000FFFF0000';

/** As the kernel writes it on machines whose numbers begin with the lowest byte: x64 and arm64. */
const endOf = (address: string, port: number) =>
  `${hexOf(address.replace('::ffff:', ''))}:${port.toString(16).toUpperCase().padStart(4, '0')}`;

const hexOf = (address: string) =>
  address
    .split('.')
    .map((part) => Number(part).toString(16).toUpperCase().padStart(2, '0'))
    .toReversed()
    .join('');

const pieceBytes = 64 * 1_024;

/** Reads the table in pieces, because a sandbox may have many thousand connections. */
function userIn(table: number, ends: string): number | null {
  const piece = Buffer.alloc(pieceBytes);
  let rest = '';
  for (let at = 0; ;) {
    const count = readSync(table, piece, 0, piece.length, at);
    if (count === 0) return null;
    at += count;
    const text = rest + piece.toString('latin1', 0, count);
    const end = text.lastIndexOf('\n') + 1;
    const user = userOf(text.slice(0, end), ends);
    if (user !== null) return user;
    rest = text.slice(end);
  }
}

/** Columns: number, own end, other end, state, queues, timers, retransmissions, user, timeout, inode. A connection that its program has closed has inode 0. */
export function userOf(table: string, ends: string): number | null {
  const at = table.indexOf(ends);
  if (at === -1) return null;
  const columns = table
    .slice(at + 2, table.indexOf('\n', at))
    .split(' ')
    .filter((each) => each !== '');
  return columns[8] === '0' ? null : Number(columns[6]);
}
