import { join } from 'node:path';
import type { Cluster } from '../api.ts';
import { startDaemon } from '../machine/daemon.ts';
import { inNamespace } from '../machine/namespace.ts';
import { apiServerArgv, controllerManagerArgv, etcdArgv, schedulerArgv } from './argv.ts';

/** Parts of the control plane, as their records and logs are called. */
export const apiServer = 'kube-apiserver';
export const controllerManager = 'kube-controller-manager';
export const scheduler = 'kube-scheduler';

/** The API server waits for etcd by itself, so both are started at once. */
export function startApi(cluster: Cluster): void {
  startPart(cluster, etcdArgv(cluster));
  startApiServer(cluster);
}

export const startApiServer = (cluster: Cluster): void => startPart(cluster, apiServerArgv(cluster));

/** Both end when the API server does not answer at once, so they are started after it. */
export function startControllers(cluster: Cluster): void {
  startPart(cluster, controllerManagerArgv(cluster));
  startPart(cluster, schedulerArgv(cluster));
}

function startPart(cluster: Cluster, [name = '', ...flags]: readonly string[]): void {
  startDaemon(cluster, { name, argv: inNamespace(cluster.hub, [join(cluster.programs, name), ...flags]) });
}
