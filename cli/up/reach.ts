import type { NetworkInterfaceInfo } from 'node:os';

type Interfaces = Readonly<Record<string, readonly NetworkInterfaceInfo[] | undefined>>;

/** Names and addresses that only this machine reaches. */
export const isLoopbackHost = (host: string): boolean =>
  host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);

const isEverywhere = (host: string): boolean => host === '0.0.0.0' || host === '::';

/** For a person: which machines can connect to a process that listens at `host`. */
export function describeReach(host: string, interfaces: Interfaces): string {
  if (isLoopbackHost(host)) return 'this machine only';
  if (!isEverywhere(host)) return `every machine that reaches ${describeAddress(host)}`;
  const outer = Object.values(interfaces)
    .flatMap((addresses) => addresses ?? [])
    .filter(({ internal, address }) => !internal && !address.startsWith('fe80:'));
  const addresses = outer.map(({ address }) => describeAddress(address));
  if (addresses.length === 0) return 'this machine only, until it has a network';
  return `every machine that reaches ${addresses.join(' or ')}`;
}

const describeAddress = (address: string): string =>
  isPrivate(address)
    ? `${address} (a private network)`
    : `${address} (the internet, unless a firewall is in between)`;

/** RFC 1918, RFC 6598, link-local and unique local addresses. A name may be any address. */
const isPrivate = (address: string): boolean =>
  /^(?:10|192\.168|169\.254|172\.(?:1[6-9]|2\d|3[01])|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7]))\./.test(
    address,
  ) || /^f[cd][0-9a-f]{2}:|^fe80:/i.test(address);
