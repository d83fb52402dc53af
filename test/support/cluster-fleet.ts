import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { PartName } from '#cli/fleet/part-process.ts';
import { type RunningFleet, startFleetOnCluster } from '#cli/fleet/start-fleet.ts';
import { type Cluster, kubectl } from '#infra/cluster/api.ts';
import { sandboxId, type SandboxId } from '#src/model/ids.ts';
import { openNamespace, removeNamespace } from './cluster-namespace.ts';
import { clusterOfTest } from './cluster.ts';
import { type Faces, facesOf } from './faces.ts';
import { fleetFolders } from './fleet.ts';
import { partsOfFleet } from './parts-of-fleet.ts';

/** A whole fleet of one test file, whose sandboxes are pods of a real cluster, in a namespace of its own. */
export type ClusterFleetOfTest = Faces & {
  readonly cluster: Cluster;
  readonly namespace: string;
  readonly fleet: RunningFleet;
  readonly environmentsDir: string;
  readonly clusterFile: string;
  /** kubectl in the fleet's namespace. */
  kubectl(args: readonly string[], stdin?: string): Promise<string>;
  /** Asks the API server for the pod's eviction. */
  evict(pod: string): Promise<string>;
  /** The pod that a rollout of the development run holds now. */
  podOf(rollout: string): Promise<HeldPod>;
  /** Names of all pods that the namespace has. */
  pods(): Promise<readonly string[]>;
  /** SIGKILL to one part; resolves when the fleet has it ready again. */
  killPart(part: PartName): Promise<void>;
  /** Stops it, removes its namespace, and fails if it left anything on the machine. */
  stop(): Promise<void>;
};

export type HeldPod = { readonly sandbox: SandboxId; readonly node: string };

export type ClusterFleetOptions = {
  /** Of the namespace; the process that runs the tests is added. */
  readonly name: string;
  /** Environments as YAML, by name. */
  readonly environments: Readonly<Record<string, string>>;
  /** Files next to them that they name, by name. */
  readonly files?: Readonly<Record<string, string>>;
  /** Redis writes everything to disk, and comes back with it. */
  readonly keepRecords?: boolean;
  /** How sandboxd comes into pods. Default: it is part of their image. */
  readonly sandboxd?: string;
};

/** What a sandbox of a test takes; nodes have the bare image, and no registry. */
export const podResources = 'cpu: { request: 10m, limit: "1" }, memory: 128Mi, disk: 64Mi';

/** The score is the number of lines that commands have written to `log`: how often they have run. */
export function podEnvironment(
  name: string,
  changes: { readonly sandbox?: string; readonly timeout?: string; readonly pool?: string } = {},
): string {
  return `
name: ${name}
sandbox: { ${changes.sandbox ?? `image: "corral.local/bare:dev", ${podResources}`} }
tools: { shell: { builtin: shell, timeout: ${changes.timeout ?? '60s'} } }
grader: { kind: command, command: [sh, -c, 'as-policy sh -c "wc -l < log" > "$CORRAL_SCORE_FILE"'], on_exit: discard, on_timeout: discard, on_out_of_memory: discard, on_broken: 0 }
pool: ${changes.pool ?? '{ min_ready: 2, max: 20 }'}
`;
}

/** Starts redis, controller and gateway beside the cluster of this test; resolves when all answer ready. */
export async function startClusterFleetOfTest(options: ClusterFleetOptions): Promise<ClusterFleetOfTest> {
  const cluster = await clusterOfTest();
  const namespace = `${options.name}-${process.pid}`;
  await openNamespace(cluster, namespace);
  const { root, environmentsDir, stateDir } = await fleetFolders(options.environments, options.files);
  const clusterFile = join(root, 'cluster.yaml');
  await writeFile(clusterFile, clusterYaml(namespace, options.sandboxd));
  const { onEvent, killPart, stop } = partsOfFleet(stateDir);
  const remove = () =>
    Promise.all([removeNamespace(cluster, namespace), rm(root, { recursive: true, force: true })]);
  const fleet = await startFleetOnCluster(
    { environmentsDir, stateDir, keepRecords: options.keepRecords ?? false, onEvent },
    { file: clusterFile, kubeconfig: cluster.kubeconfig },
  ).catch((error: unknown) => remove().then(() => Promise.reject(error)));
  const faces = facesOf(fleet.gatewayUrl, fleet.apiKey);
  return {
    ...faces,
    ...podsIn(cluster, namespace, faces),
    cluster,
    namespace,
    fleet,
    environmentsDir,
    clusterFile,
    killPart,
    stop: () => stop(fleet, remove),
  };
}

/** The cluster may ask registries, of which it reaches none. */
const clusterYaml = (namespace: string, sandboxd = 'baked') =>
  `{ namespace: ${namespace}, sandboxd: ${sandboxd}, image_pull_policy: IfNotPresent }`;

function podsIn(
  cluster: Cluster,
  namespace: string,
  faces: Faces,
): Pick<ClusterFleetOfTest, 'kubectl' | 'evict' | 'pods' | 'podOf'> {
  const inNamespace = (args: readonly string[], stdin = '') =>
    kubectl(cluster, [...args, `--namespace=${namespace}`], stdin);
  return {
    kubectl: inNamespace,
    evict: (pod) => {
      const metadata = { name: pod, namespace };
      const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata };
      const path = `/api/v1/namespaces/${namespace}/pods/${pod}/eviction`;
      return inNamespace(['create', '--raw', path, '-f', '-'], JSON.stringify(eviction));
    },
    pods: async () => words(await inNamespace(['get', 'pods', '--output=name'])),
    podOf: async (rollout) => {
      const sandbox = await sandboxOf(faces, rollout);
      const node = await inNamespace(['get', 'pod', sandbox, '--output=jsonpath={.spec.nodeName}']);
      return { sandbox, node };
    },
  };
}

const words = (text: string) => text.split(/\s+/).filter((word) => word !== '');

async function sandboxOf({ native }: Faces, rollout: string): Promise<SandboxId> {
  const { body } = await native.get(`/v1/rollouts/${rollout}`);
  const { epoch } = body as { readonly epoch?: { readonly sandbox: string } | null };
  if (epoch === null || epoch === undefined) throw new Error(`rollout ${rollout} holds no sandbox`);
  return sandboxId(epoch.sandbox);
}
