/**
 * Package registries that a sandbox reaches through its node and nothing else, by name. Of each, the first address is what package
 * managers are configured with; the others are where the registry has its files. Every address ends with a slash.
 */
export type Mirrors = Readonly<Record<string, readonly string[]>>;

/** The network of sandboxes that have {@link Mirrors}; in an operator's policy, the permission to have some. */
export const mirrorsNetwork = 'mirrors';

/** The most memory of one proxy. With what its bounds let through it needs less than half of it. */
export const mirrorProxyBytes = 256 * 1024 ** 2;

/** Each address of another server is one more address of the sandbox's loopback. */
export const mostMirrorAddresses = 16;
