import type { KubeConfig } from '@kubernetes/client-node';

/** What one connection's TLS needs; compared by content, since a rotated certificate asks for new connections. */
export type ClusterTls = {
  readonly ca?: string | Buffer;
  readonly cert?: string | Buffer;
  readonly key?: string | Buffer;
  readonly servername?: string;
  readonly rejectUnauthorized?: boolean;
};

export type ClusterAccess = {
  readonly tls: ClusterTls;
  readonly headers: Readonly<Record<string, string>>;
};

export type Credentials = {
  /** Base URL of the API server, without a slash at its end. */
  readonly server: string;
  /** The namespace that the kubeconfig's context or the service account names; null where neither does. */
  readonly namespace: string | null;
  /** What to connect and ask with now. Throws what a broken kubeconfig or a failing exec plugin throws. */
  current(): Promise<ClusterAccess>;
  /** The API server refused them: the next {@link current} reads them again. */
  forget(): void;
};

/**
 * Files of a service account are rewritten by the kubelet about once an hour, long before the old token ends: reading
 * them once in this time is soon enough, and costs nothing beside reading them for every call.
 */
const readEveryMs = 30_000;

/**
 * Credentials as `kubectl` finds them: `kubeconfig`, else `KUBECONFIG`, `~/.kube/config`, the pod's own service
 * account. Tokens and certificates from files, exec plugins included, are read again as they change.
 */
export async function loadCredentials(
  kubeconfig: string | null,
  clock: { monotonicMs(): number },
): Promise<Credentials> {
  // Loaded only here: it costs 0.8 s and 80 MB, which a process without a cluster must not pay.
  const { KubeConfig } = await import('@kubernetes/client-node');
  const config = new KubeConfig();
  if (kubeconfig === null) config.loadFromDefault();
  else config.loadFromFile(kubeconfig);
  return credentialsOf(config, clock);
}

export function credentialsOf(config: KubeConfig, clock: { monotonicMs(): number }): Credentials {
  const cluster = config.getCurrentCluster();
  if (cluster === null) throw new Error('the kubeconfig names no current cluster');
  if (cluster.proxyUrl !== undefined) {
    throw new Error('the kubeconfig names a proxy-url for its cluster, which is not supported: remove it');
  }
  let kept: { readonly access: Promise<ClusterAccess>; readonly untilMs: number } | null = null;
  return {
    server: cluster.server.replace(/\/+$/, ''),
    namespace: config.getContextObject(config.getCurrentContext())?.namespace ?? null,
    current: () => {
      if (kept === null || clock.monotonicMs() >= kept.untilMs) {
        kept = { access: accessOf(config), untilMs: clock.monotonicMs() + readEveryMs };
        // What failed is tried again by the next call, not told to everybody for half a minute.
        kept.access.catch(() => (kept = null));
      }
      return kept.access;
    },
    forget: () => (kept = null),
  };
}

async function accessOf(config: KubeConfig): Promise<ClusterAccess> {
  const options: Parameters<KubeConfig['applyToHTTPSOptions']>[0] = {};
  await config.applyToHTTPSOptions(options);
  const { ca, cert, key, servername, rejectUnauthorized, auth } = options;
  return {
    tls: {
      ...(isBytes(ca) ? { ca } : {}),
      ...(isBytes(cert) ? { cert } : {}),
      ...(isBytes(key) ? { key } : {}),
      ...(typeof servername === 'string' ? { servername } : {}),
      ...(rejectUnauthorized === undefined ? {} : { rejectUnauthorized }),
    },
    headers: { ...textHeaders(options.headers ?? {}), ...basic(auth) },
  };
}

const isBytes = (value: unknown): value is string | Buffer =>
  typeof value === 'string' || Buffer.isBuffer(value);

const textHeaders = (headers: object): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), String(value)]));

const basic = (auth: string | null | undefined): Record<string, string> =>
  auth === null || auth === undefined
    ? {}
    : { authorization: `Basic ${Buffer.from(auth).toString('base64')}` };
