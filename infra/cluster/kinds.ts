import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { type Cluster, kubectl } from './api.ts';
import { keptText } from './binaries/cache.ts';
import { sourceOf } from './binaries/go.ts';

/**
 * Kinds that others define and a fleet's chart can make objects of: of the operators of Prometheus and KEDA, and of the
 * gateway API. Nothing acts upon such objects here, but the API server checks them as a real cluster's does.
 */
const files: Readonly<Record<string, readonly string[]>> = {
  'github.com/prometheus-operator/prometheus-operator': [
    'example/prometheus-operator-crd/monitoring.coreos.com_podmonitors.yaml',
    'example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml',
  ],
  'github.com/kedacore/keda/v2': ['config/crd/bases/keda.sh_scaledobjects.yaml'],
  'sigs.k8s.io/gateway-api': ['config/crd/standard/gateway.networking.k8s.io_httproutes.yaml'],
};

/** Takes half a second, while nodes get their images: so every cluster has them, and no test must ask for them. */
export async function addKinds(cluster: Cluster): Promise<void> {
  const kinds: string[] = [];
  // One after the other: each may have to be fetched, and `go` locks its cache.
  for (const [module, paths] of Object.entries(files)) {
    for (const path of paths) kinds.push(await kindIn(cluster.programs, module, path));
  }
  // A client's apply would copy each, with all its descriptions, into an annotation that may not be that large.
  await kubectl(cluster, ['apply', '--server-side', '-f', '-'], kinds.join('\n---\n'));
}

/** Kept by its own name, so that one more in the list above is one more to fetch. */
const kindIn = (programs: string, module: string, path: string): Promise<string> =>
  keptText(programs, basename(path), async () =>
    readFile(join(await sourceOf('kinds', module), path), 'utf8'),
  );
