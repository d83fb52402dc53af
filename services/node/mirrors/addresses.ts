import { BlockList, isIP, isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';

/* Which addresses sandboxes may reach through their proxies. */

/** A range such as `10.3.0.0/16`. */
export type Range = { readonly address: string; readonly prefix: number };

/** Loopback, link-local, private, shared and reserved ranges, the wire server of a cloud, and what carries an IPv4 address in an IPv6 one. */
const notPublic = [
  '0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 168.63.129.16/32 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 192.168.0.0/16',
  '198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4',
  '::/96 ::ffff:0:0:0/96 64:ff9b::/96 64:ff9b:1::/48 100::/64 2001::/23 2001:db8::/32 2002::/16 3fff::/20 5f00::/16 fc00::/7 fe80::/10 fec0::/10 ff00::/8',
].flatMap((line) => line.split(' ').map((each) => parseRange(each)));

/** Null: the text is not a range. A single address is a range of one. */
export function readRange(text: string): Range | null {
  const [address = '', prefix = isIPv6(address) ? '128' : '32', ...others] = text.split('/');
  const isPrefix = /^\d{1,3}$/.test(prefix) && Number(prefix) <= (isIPv6(address) ? 128 : 32);
  return isIP(address) === 0 || !isPrefix || others.length > 0 ? null : { address, prefix: Number(prefix) };
}

function parseRange(text: string): Range {
  const range = readRange(text);
  if (range === null) throw new Error(`${text} is no range of addresses`);
  return range;
}

export type Reachable = (address: string) => boolean;

/** `listed`: ranges that are open in spite of what they are. The machine's own addresses are closed like its loopback. */
export function reachable(listed: readonly Range[], own: () => readonly string[] = ownAddresses): Reachable {
  const open = blockListOf(listed);
  const closed = blockListOf(notPublic);
  return (written) => {
    const address = withoutMapping(written);
    if (isIP(address) === 0) return false;
    const family = isIPv6(address) ? 'ipv6' : 'ipv4';
    return open.check(address, family) || !(closed.check(address, family) || own().includes(address));
  };
}

function blockListOf(ranges: readonly Range[]): BlockList {
  const list = new BlockList();
  for (const { address, prefix } of ranges)
    list.addSubnet(address, prefix, isIPv6(address) ? 'ipv6' : 'ipv4');
  return list;
}

/** `::ffff:10.0.0.1` is 10.0.0.1, also if its last part is written in hexadecimal digits; a zone says only how to get there. */
function withoutMapping(written: string): string {
  const address = written.replace(/^\[|\]$/g, '').split('%')[0] ?? '';
  if (!isIPv6(address)) return address;
  const { hostname } = new URL(`http://[${address}]/`);
  const mapped = /^\[::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})\]$/.exec(hostname);
  if (mapped === null) return address;
  const [high = 0, low = 0] = mapped.slice(1).map((each) => Number.parseInt(each, 16));
  return [high >> 8, high & 255, low >> 8, low & 255].join('.');
}

const ownAddresses = (): readonly string[] =>
  Object.values(networkInterfaces()).flatMap((all = []) => all.map(({ address }) => address));

/** The code of a refusal, in contrast to a server that cannot be reached. */
export const closedAddress = 'EADDRCLOSED';

export const closedError = (host: string): Error =>
  Object.assign(new Error(`${host} leads to no address that sandboxes may reach`), { code: closedAddress });
