import { type Cluster, kubectl } from '#infra/cluster/api.ts';
import { busyboxImage } from '#infra/cluster/images/built-in.ts';

/** A web server of one page, which ends at once when it is told to. */
const script = `
echo hello >/tmp/greeting
httpd -f -p 8080 -h /tmp &
trap 'exit 0' TERM
wait
`;

/** A bare pod on one node, made by none of our code; resolves when it is Ready. */
export async function createBusyboxPod(cluster: Cluster, name: string, node: string): Promise<void> {
  const container = {
    name: 'main',
    image: busyboxImage,
    imagePullPolicy: 'Never',
    command: ['sh', '-c', script],
    readinessProbe: { tcpSocket: { port: 8080 }, periodSeconds: 1 },
  };
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: {
      nodeSelector: { 'kubernetes.io/hostname': node },
      terminationGracePeriodSeconds: 1,
      containers: [container],
    },
  };
  await kubectl(cluster, ['create', '-f', '-'], JSON.stringify(pod));
  await kubectl(cluster, ['wait', '--for=condition=Ready', `pod/${name}`, '--timeout=40s']);
}

export const addressOf = (cluster: Cluster, pod: string): Promise<string> =>
  kubectl(cluster, ['get', 'pod', pod, '-o', 'jsonpath={.status.podIP}']);

/** At once, also where the node cannot be asked; no error when there is none. */
export async function removePod(cluster: Cluster, name: string): Promise<void> {
  await kubectl(cluster, ['delete', 'pod', name, '--ignore-not-found', '--force', '--grace-period=0']);
}
