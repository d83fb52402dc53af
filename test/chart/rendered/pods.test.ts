import { describe, expect, test } from 'vitest';
import { secretKinds, secretName } from '#cli/installation/secrets.ts';
import { readConsoleConfig } from '#services/console/config.ts';
import { readControllerConfig } from '#services/controller/config.ts';
import { readGatewayConfig } from '#services/gateway/config.ts';
import { longestLeaving } from '#services/gateway/http/leave.ts';
import { fleetOf, home, oneOf, render, type Rendered, valueSets } from '#test/support/helm.ts';

type Variable = { readonly name: string; readonly value?: string; readonly valueFrom?: object };
type Mount = { readonly name: string; readonly mountPath: string; readonly subPath?: string };
type Container = {
  readonly env?: readonly Variable[];
  readonly volumeMounts?: readonly Mount[];
  readonly securityContext: object;
};
type Volume = { readonly name: string; readonly secret?: { readonly secretName: string } };
type Pod = {
  readonly terminationGracePeriodSeconds: number;
  readonly automountServiceAccountToken?: boolean;
  readonly serviceAccountName?: string;
  readonly securityContext: object;
  readonly containers: readonly [Container, ...Container[]];
  readonly initContainers?: readonly Container[];
  readonly volumes?: readonly Volume[];
};
type Template = { readonly template: { readonly spec: Pod } };

/** Specs of all pods that the chart makes, itself or by a Deployment, a StatefulSet or a Job. */
const podsOf = (objects: readonly Rendered[]): readonly Pod[] =>
  objects.flatMap(({ kind, spec }) => {
    if (kind === 'Pod') return [spec as Pod];
    return ['Deployment', 'StatefulSet', 'Job'].includes(kind) ? [(spec as Template).template.spec] : [];
  });

/** Of a Deployment's pods. */
const templateOf = (objects: readonly Rendered[], name: string): Template['template'] =>
  (oneOf(objects, 'Deployment', name)['spec'] as Template).template;

const podOf = (objects: readonly Rendered[], name: string): Pod => templateOf(objects, name).spec;

/** As the process finds them; what comes out of a Secret is some text, an address or a header where one is asked for. */
const variablesOf = ({ containers: [{ env = [] }] }: Pod): Readonly<Record<string, string>> =>
  Object.fromEntries(env.map(({ name, value }) => [name, value ?? secretOf(name)]));

const secretOf = (name: string) => (name.endsWith('_HEADERS') ? 'authorization=x' : 'redis://redis:6379');

describe.each(valueSets)('pods of the %s values', (set) => {
  test('ask for no more than Pod Security `restricted` admits, and write to no root', async () => {
    const pods = podsOf(await render(set));
    expect(pods.length).toBeGreaterThan(2);
    for (const { securityContext, containers, initContainers = [] } of pods) {
      expect(securityContext).toMatchObject({
        runAsNonRoot: true,
        seccompProfile: { type: 'RuntimeDefault' },
      });
      for (const container of [...containers, ...initContainers])
        expect(container.securityContext).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        });
    }
  });

  test('mount folders, never single files, which would not change with their Secret', async () => {
    const mounts = podsOf(await render(set)).flatMap(({ containers }) =>
      containers.flatMap(({ volumeMounts = [] }) => volumeMounts),
    );
    expect(mounts.filter(({ subPath }) => subPath !== undefined)).toEqual([]);
  });

  test('name volumes that they have, and have none that they do not name', async () => {
    for (const { containers, initContainers = [], volumes = [] } of podsOf(await render(set))) {
      const mounted = [...containers, ...initContainers].flatMap(({ volumeMounts = [] }) => volumeMounts);
      expect(new Set(mounted.map(({ name }) => name))).toEqual(new Set(volumes.map(({ name }) => name)));
    }
  });

  test('have variables that gateways and controllers read without a mistake, and files where they are mounted', async () => {
    const objects = await render(set);
    const [gateway, controller] = ['gateway', 'controller'].map((name) =>
      podOf(objects, `${fleetOf[set]}-${name}`),
    );
    if (gateway === undefined || controller === undefined) throw new TypeError('two');
    expect(readGatewayConfig(variablesOf(gateway))).toMatchObject({ fleet: fleetOf[set], host: '0.0.0.0' });
    expect(readControllerConfig(variablesOf(controller))).toMatchObject({
      fleet: fleetOf[set],
      engine: { kind: 'kubernetes' },
    });
    for (const pod of [gateway, controller]) {
      const mounts = pod.containers[0].volumeMounts ?? [];
      const files = Object.entries(variablesOf(pod)).filter(([name]) => /_FILE$|_DIR$|POLICY$/.test(name));
      for (const [name, path] of files)
        expect(
          mounts.some(({ mountPath }) => path.startsWith(mountPath)),
          `${name}=${path}`,
        ).toBe(true);
    }
  });

  test('of gateways are given time to be not ready, to finish what they hold, and to end', async () => {
    const pod = podOf(await render(set), `${fleetOf[set]}-gateway`);
    const { CORRAL_DRAIN_DELAY_MS: drain, CORRAL_SHUTDOWN_GRACE_MS: grace } = variablesOf(pod);
    const endsMs = longestLeaving * Number(drain) + Number(grace);
    expect(pod.terminationGracePeriodSeconds).toBe(endsMs / 1000 + 15);
    expect(Number(grace)).toBeGreaterThan(540_000);
  });

  test('are not their containers’ first processes, which would not hear a SIGTERM that comes too early for them', async () => {
    const objects = await render(set);
    for (const part of ['gateway', 'controller'])
      expect(podOf(objects, `${fleetOf[set]}-${part}`)).toMatchObject({ shareProcessNamespace: true });
  });

  test('have a token only where they speak to the API server', async () => {
    const objects = await render(set);
    const accounts = podsOf(objects)
      .filter(({ automountServiceAccountToken: token }) => token !== false)
      .map(({ serviceAccountName = '' }) => serviceAccountName.replace(`${fleetOf[set]}-`, ''));
    expect(['controller', 'setup', 'sweep']).toEqual(expect.arrayContaining(accounts));
  });
});

test('both write spans where a collector is named, with its headers from a Secret, and reach its port', async () => {
  const change = ['--set', 'tracing.endpoint=http://otel.example:4319,tracing.ratio=0.5'];
  const headers = ['--set', 'tracing.headersSecret.name=otel', '--set', 'networkPolicy.enabled=true'];
  const objects = await render('minimal', ...change, ...headers);
  for (const name of [`${fleetOf.minimal}-gateway`, `${fleetOf.minimal}-controller`]) {
    const { env } = podOf(objects, name).containers[0];
    expect(env?.filter((variable) => variable.name.startsWith('OTEL_'))).toEqual([
      { name: 'OTEL_EXPORTER_OTLP_ENDPOINT', value: 'http://otel.example:4319' },
      { name: 'OTEL_TRACES_SAMPLER_ARG', value: '0.5' },
      {
        name: 'OTEL_EXPORTER_OTLP_HEADERS',
        valueFrom: { secretKeyRef: { name: 'otel', key: 'headers' } },
      },
    ]);
    const { egress } = oneOf(objects, 'NetworkPolicy', name)['spec'] as {
      readonly egress: readonly object[];
    };
    expect(egress).toContainEqual({ ports: [{ protocol: 'TCP', port: 4_319 }] });
  }
  expect(JSON.stringify(await render('minimal'))).not.toContain('OTEL_');
});

test('Secrets that the installation makes are those that pods mount', async () => {
  const objects = await render('minimal');
  const mounted = podsOf(objects).flatMap(({ volumes = [] }) =>
    volumes.flatMap(({ secret }) => (secret === undefined ? [] : [secret.secretName])),
  );
  expect(new Set(mounted)).toEqual(new Set(secretKinds.map((kind) => secretName(fleetOf.minimal, kind))));
});

test('gateways see hashes of keys, and never the operator’s own key beside them', async () => {
  const { volumes = [] } = podOf(await render('minimal'), `${fleetOf.minimal}-gateway`);
  expect(volumes).toContainEqual({
    name: 'keys',
    secret: {
      secretName: secretName(fleetOf.minimal, 'keys'),
      items: [{ key: 'keys.json', path: 'keys.json' }],
    },
  });
});

const withConsole = valueSets.filter((set) => set !== 'minimal');

describe.each(withConsole)('the console of the %s values', (set) => {
  const name = `${fleetOf[set]}-console`;

  test('reads its variables without a mistake, and asks the gateways’ Service', async () => {
    const objects = await render(set);
    const config = readConsoleConfig(variablesOf(podOf(objects, name)));
    const url = `http://${fleetOf[set]}-gateway.${home}.svc:80`;
    expect(config).toMatchObject({ gatewayUrl: url, listen: { host: '0.0.0.0', port: 8_701 } });
    const { protocol, hostname } = config.origins[0] ?? new URL('none:');
    expect([protocol, hostname]).toEqual(
      set === 'gitops' ? ['http:', '127.0.0.1'] : ['https:', 'console.example.com'],
    );
    expect(config.kept).toMatchObject({
      store: set === 'gitops' ? '/var/lib/corral/trajectories' : 's3://lab-trajectories/corral',
    });
  });

  test('has neither an account nor a key of the fleet, and one process has its volume', async () => {
    const objects = await render(set);
    const { volumes = [], serviceAccountName, ...pod } = podOf(objects, name);
    expect(pod.automountServiceAccountToken).toBe(false);
    expect(serviceAccountName).toBeUndefined();
    expect(volumes.filter(({ secret }) => secret !== undefined)).toEqual([]);
    const {
      containers: [{ env = [] }],
    } = pod;
    const secrets = env.flatMap(({ name: variable, valueFrom }) =>
      valueFrom === undefined ? [] : [variable],
    );
    expect(secrets).toEqual(set === 'gitops' ? [] : ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY']);
    expect(JSON.stringify(env)).not.toContain('"lab-trajectories"');
    expect(oneOf(objects, 'Deployment', name)['spec']).toMatchObject({
      replicas: 1,
      strategy: { type: 'Recreate' },
    });
  });

  test('only reads trajectories on a volume', async () => {
    const mounts = podOf(await render(set), name).containers[0].volumeMounts ?? [];
    const trajectories = mounts.filter((mount) => mount.name === 'trajectories');
    expect(trajectories).toEqual(
      set === 'gitops'
        ? [{ name: 'trajectories', mountPath: '/var/lib/corral/trajectories', readOnly: true }]
        : [],
    );
  });
});

test('there is no console unless it is asked for', async () => {
  expect(JSON.stringify(await render('minimal'))).not.toContain('console');
});

test('where all Secrets are named, no job makes any', async () => {
  expect((await render('gitops')).filter(({ metadata }) => metadata.name.endsWith('-setup'))).toEqual([]);
});

/** Of gateways and of controllers, after a change of values: where it is another, its pods are replaced. */
async function templates(...changes: readonly string[]) {
  const objects = await render('minimal', ...changes);
  return {
    gateway: templateOf(objects, `${fleetOf.minimal}-gateway`),
    controller: templateOf(objects, `${fleetOf.minimal}-controller`),
  };
}

test('a change of environments or policy restarts nobody, and one of cluster.yaml only controllers', async () => {
  const one = ['--set-json', 'environments.inline={"a":{}}', '--set-json', 'policy={"networks":["a"]}'];
  const other = ['--set-json', 'environments.inline={"b":{}}', '--set-json', 'policy={"networks":["b"]}'];
  const before = await templates(...one);
  expect(await templates(...other)).toEqual(before);
  const { gateway, controller } = await templates(...one, '--set', 'clusterConfig.node_loss=5s');
  expect(gateway).toEqual(before.gateway);
  expect(controller).not.toEqual(before.controller);
});
