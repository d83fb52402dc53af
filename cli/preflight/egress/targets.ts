import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { CommandError } from '#cli/command-error.ts';
import { loadCredentials } from '#src/adapters/kubernetes/api/credentials.ts';
import { systemClock } from '#src/platform/clock.ts';
import type { Target } from './check-egress.ts';

/**
 * Targets that are the same for every sandbox: the API server of the kubeconfig, and what the operator listed as
 * `host:port`. Without a kubeconfig it is that of `KUBECONFIG`, or of the cluster we run in; without a cluster none.
 */
export async function commonTargets(
  probes: readonly string[],
  kubeconfig: string | null,
  variables: Readonly<Record<string, string | undefined>>,
): Promise<readonly Target[]> {
  const named = kubeconfig ?? variables['KUBECONFIG'] ?? variables['KUBERNETES_SERVICE_HOST'];
  const listed = await Promise.all(probes.map(listedTarget));
  return [...(named === undefined ? [] : await apiServer(kubeconfig)), ...listed];
}

/** As this machine reaches it; none where only our own loopback leads there. */
async function apiServer(kubeconfig: string | null): Promise<readonly Target[]> {
  const { hostname, port, protocol } = new URL(await serverOf(kubeconfig));
  if (isLoopback(hostname)) return [];
  const defaultPort = protocol === 'https:' ? 443 : 80;
  const address = { host: await numberOf(unbracketed(hostname)), port: Number(port || defaultPort) };
  return [{ what: 'the API server', address }];
}

async function serverOf(kubeconfig: string | null): Promise<string> {
  try {
    return (await loadCredentials(kubeconfig, systemClock)).server;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new CommandError(
      `the kubeconfig cannot be used: ${reason}`,
      'yours',
      'name one with --kubeconfig',
      error,
    );
  }
}

/** Inside a sandbox that is the sandbox itself. */
const isLoopback = (host: string) => host === 'localhost' || host.startsWith('127.') || host === '[::1]';

async function listedTarget(text: string): Promise<Target> {
  const { host = '', port = '' } = /^(?<host>\[[^\]]+\]|[^:]+):(?<port>\d{1,5})$/.exec(text)?.groups ?? {};
  if (host === '' || Number(port) > 65_535 || isLoopback(host)) {
    throw new CommandError(`not an address to probe: ${text}`, 'yours', 'give it like 10.0.0.7:443');
  }
  return { what: text, address: { host: await numberOf(unbracketed(host)), port: Number(port) } };
}

const unbracketed = (host: string) => host.replaceAll(/[[\]]/g, '');

/** Names are looked up here: a sandbox that cannot look them up might reach the address all the same. */
async function numberOf(host: string): Promise<string> {
  if (isIP(host) !== 0) return host;
  try {
    return (await lookup(host)).address;
  } catch (error) {
    throw new CommandError(`${host} has no known address`, 'yours', 'give its number instead', error);
  }
}
