import {
  clusterDefaults,
  type ClusterSettings,
  type EgressRule,
  type NetworkClass,
  type SandboxdInjection,
} from '../model/cluster.ts';
import { compilePlacement } from './compile/template.ts';
import { parseDurationMs } from './quantities.ts';
import { ClusterSchema, type ClusterYaml } from './schema/operator.ts';
import { operatorFile } from './yaml-source.ts';

const read = operatorFile(ClusterSchema, "the operator's cluster file");

/** The operator's file about the cluster. Throws `EnvironmentMistakes` that list everything wrong in it. */
export const loadCluster = async (file: string): Promise<ClusterSettings> => compileCluster(await read(file));

function compileCluster(yaml: ClusterYaml): ClusterSettings {
  const { node_loss } = yaml;
  return {
    namespace: yaml.namespace,
    sandboxd: injectionOf(yaml.sandboxd),
    port: yaml.port ?? clusterDefaults.port,
    imagePullPolicy: yaml.image_pull_policy ?? clusterDefaults.imagePullPolicy,
    imagePullSecrets: yaml.image_pull_secrets ?? clusterDefaults.imagePullSecrets,
    singleUid: yaml.uid === undefined ? clusterDefaults.singleUid : yaml.uid === 'single',
    hostUsers: yaml.host_users ?? clusterDefaults.hostUsers,
    // Kubernetes counts whole seconds.
    nodeLossSeconds:
      node_loss === undefined
        ? clusterDefaults.nodeLossSeconds
        : Math.max(1, Math.round(parseDurationMs(node_loss) / 1000)),
    networks: Object.fromEntries(
      Object.entries(yaml.networks ?? {}).map(([name, yaml]) => [name, networkOf(yaml)]),
    ),
    placement: compilePlacement(yaml.placement ?? {}),
  };
}

function injectionOf(sandboxd: ClusterYaml['sandboxd']): SandboxdInjection {
  if (sandboxd === 'baked') return { kind: 'baked' };
  if ('baked' in sandboxd) return { kind: 'baked', folder: sandboxd.baked };
  if ('image_volume' in sandboxd) return { kind: 'image_volume', image: sandboxd.image_volume };
  return { kind: 'init_container', image: sandboxd.init_container };
}

type NetworkYaml = NonNullable<ClusterYaml['networks']>[string];
type EgressYaml = NonNullable<NetworkYaml['egress']>[number];

/** Whoever defines a network wants names looked up in it. */
const networkOf = ({ dns, env, egress }: NetworkYaml): NetworkClass => ({
  dnsPolicy: dns ?? 'ClusterFirst',
  env: env ?? {},
  egress: (egress ?? []).map(ruleOf),
});

const ruleOf = ({ cidr, except, ports }: EgressYaml): EgressRule => ({
  cidr,
  except: except ?? [],
  ports: (ports ?? []).map(portOf),
});

function portOf(written: number | string): EgressRule['ports'][number] {
  const [port, protocol] = String(written).split('/');
  return { port: Number(port), protocol: protocol === 'udp' ? 'UDP' : 'TCP' };
}
