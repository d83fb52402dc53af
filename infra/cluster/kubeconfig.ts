import { join } from 'node:path';

/** A kubeconfig for one client, with the certificate and key that bear its name in `folder`. JSON, which is YAML too. */
export function kubeconfigOf(folder: string, client: string, server: string): string {
  const cluster = { server, 'certificate-authority': join(folder, 'ca.crt') };
  const user = {
    'client-certificate': join(folder, `${client}.crt`),
    'client-key': join(folder, `${client}.key`),
  };
  return `${JSON.stringify(
    {
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': client,
      clusters: [{ name: 'corral', cluster }],
      users: [{ name: client, user }],
      contexts: [{ name: client, context: { cluster: 'corral', user: client } }],
    },
    null,
    2,
  )}\n`;
}
