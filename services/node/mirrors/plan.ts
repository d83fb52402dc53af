import type { Mirrors } from '#src/model/mirrors.ts';

/*
 * How a sandbox sees its mirrors. Each server has an address of the sandbox's own loopback, where node answers for it: paths are what they
 * are on the server, so that links without a server in them lead to the right place, and a lock file whose server is replaced does too.
 */

/** Where no service listens by default, and below what the kernel gives to outgoing connections. */
export const mirrorPort = 13_141;

/** A server of mirrors. `inside`: its origin as the sandbox sees it. `prefixes`: paths that may be asked for, with all below them. */
export type Origin = {
  readonly origin: string;
  readonly inside: string;
  readonly prefixes: readonly string[];
};

export type MirrorPlan = {
  readonly origins: readonly Origin[];
  /** Paths in the sources of images, on whatever server, and which mirror answers in their place if a program asks for them through a proxy. */
  readonly standIns: readonly { readonly below: string; readonly to: string }[];
  /** Below these, documents name other servers of the same mirrors: a reader gets the addresses that the sandbox has for them. */
  readonly indexes: readonly string[];
};

export function planMirrors(mirrors: Mirrors): MirrorPlan {
  const named = Object.entries(mirrors).toSorted(([one], [other]) => (one < other ? -1 : 1));
  const addresses = named.flatMap(([, all]) => all);
  const origins = [...new Set(addresses.map((each) => new URL(each).origin))];
  return {
    origins: origins.map((origin, index) => ({
      origin,
      inside: `http://${loopbackAddress(index)}:${mirrorPort}`,
      prefixes: addresses
        .filter((each) => new URL(each).origin === origin)
        .map((each) => new URL(each).pathname),
    })),
    standIns: named.flatMap(([name, [to]]) =>
      to !== undefined && aptNames.has(name) ? [{ below: `/${name}/`, to }] : [],
    ),
    indexes: named.flatMap(([name, [index]]) => (index !== undefined && hasLinks.has(name) ? [index] : [])),
  };
}

/** The network 127.0.0.0/8 is all of the sandbox's own. Servers on 127.0.0.1 and on every address of port 13141 are in each other's way. */
const loopbackAddress = (index: number) => `127.0.31.${index + 1}`;

/** Which server an address of the sandbox's loopback stands for. */
export const originAt = ({ origins }: MirrorPlan, localAddress: string): Origin | undefined =>
  origins.find((_each, index) => localAddress.endsWith(loopbackAddress(index)));

/** Distributions have their packages below a path of this name, on every server. */
const aptNames: ReadonlySet<string> = new Set(['debian', 'debian-security', 'ubuntu']);

const hasLinks: ReadonlySet<string> = new Set(['pypi', 'npm']);

/** An address of a mirror as the sandbox sees it. */
export function insideOf({ origins }: MirrorPlan, address: string): string {
  const { origin, pathname } = new URL(address);
  const found = origins.find((each) => each.origin === origin);
  return `${found?.inside ?? origin}${pathname}`;
}
