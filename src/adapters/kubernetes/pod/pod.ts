import type { V1Pod, V1PodSpec } from '@kubernetes/client-node';
import { Failure } from '#src/failure/failure.ts';
import type { NetworkClass, PodSettings } from '#src/model/cluster.ts';
import type { Template } from '#src/model/environment.ts';
import type { CreateRequest } from '#src/ports/sandbox-provider.ts';
import { sandboxContainer } from './container.ts';
import { injectSandboxd } from './injection.ts';
import { createdMarks, podName } from './labels.ts';
import { joinPlacement, placementFields } from './placement.ts';
import { podSecurity, usersOf } from './users.ts';
import { dataVolumes, writableVolumes } from './volumes.ts';

/** sandboxd has nothing to save: its calls are stored elsewhere or lost, and it ends within a quarter of a second. */
const terminationGraceSeconds = 2;

/**
 * The pod of a sandbox, the same for the same request: each concern decides in a file of its own, and here they are
 * joined. `activeDeadlineSeconds` is not set: it would count a warm sandbox's idle hours against its rollout. `ownIds`:
 * its ids are nobody else's on its node. Throws `start_failed` for a template that no pod of this fleet can be.
 */
export function podFor(
  request: CreateRequest,
  settings: PodSettings,
  ownIds: boolean = settings.hostUsers === 'require',
): V1Pod {
  const { sandbox, template } = request;
  const users = usersOf(template, settings);
  refuseMirrors(template);
  const network = networkClass(template.network, settings);
  const injected = injectSandboxd(settings, users, template);
  const placement = joinPlacement(settings.placement, template.placement);
  const marks = createdMarks(settings.fleet, sandbox, template);
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: podName(sandbox),
      namespace: settings.namespace,
      // Ours last: by them a pod is found again.
      labels: { ...placement.labels, ...marks.labels },
      annotations: marks.annotations,
    },
    spec: {
      restartPolicy: 'Never',
      terminationGracePeriodSeconds: terminationGraceSeconds,
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      // Somebody must reap the orphans of killed commands: the pause process, when it is everybody's pid 1.
      shareProcessNamespace: true,
      ...(ownIds ? { hostUsers: false } : {}),
      securityContext: podSecurity(),
      ...dnsFields(network),
      ...placementFields(placement, settings),
      imagePullSecrets: settings.imagePullSecrets.map((name) => ({ name })),
      initContainers: [...injected.initContainers],
      containers: [sandboxContainer(request, settings, { users, network, injected, ownIds })],
      volumes: [...writableVolumes(template), ...dataVolumes(template, settings), ...injected.volumes],
    },
  };
}

/** Without a network no name can be looked up, and each try shall fail at once instead of after a resolver's patience. */
const noNetwork: NetworkClass = { dnsPolicy: 'None', env: {}, egress: [] };

/** A class of that name would let more through than the mirrors, or something else. */
function refuseMirrors({ network, mirrors }: Template): void {
  if (mirrors === undefined) return;
  const sentence =
    'network: {mirrors: …} is not offered on a cluster yet: let the operator define a network class that opens the mirrors and names them in its env';
  throw new Failure('start_failed', sentence, { evidence: { network } });
}

/** Throws `start_failed` for a class that the operator did not define. */
function networkClass(name: string, { networks }: Pick<PodSettings, 'networks'>): NetworkClass {
  if (name === 'none') return noNetwork;
  const known = networks[name];
  if (known !== undefined) return known;
  const offered = ['none', ...Object.keys(networks)].join(', ');
  throw new Failure('start_failed', `network "${name}" is not offered by this fleet; there is: ${offered}`, {
    evidence: { network: name },
  });
}

function dnsFields({ dnsPolicy }: NetworkClass): Pick<V1PodSpec, 'dnsPolicy' | 'dnsConfig'> {
  // The field must name a server, and nobody listens at this one.
  return dnsPolicy === 'None' ? { dnsPolicy, dnsConfig: { nameservers: ['127.0.0.1'] } } : { dnsPolicy };
}
