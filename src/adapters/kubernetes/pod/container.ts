import type { V1Container, V1EnvVar, V1ResourceRequirements } from '@kubernetes/client-node';
import { Failure } from '#src/failure/failure.ts';
import type { NetworkClass, PodSettings, SandboxdInjection } from '#src/model/cluster.ts';
import { usualShmBytes } from '#src/model/amounts.ts';
import type { Template } from '#src/model/environment.ts';
import type { CreateRequest } from '#src/ports/sandbox-provider.ts';
import { foldersVariable } from '#src/protocol/sandboxd/folders-variable.ts';
import { sandboxdArgv } from '#src/protocol/sandboxd/payload-layout.ts';
import { copiedPayloadBytes, type Injected } from './injection.ts';
import { ids, sandboxSecurity, type Users } from './users.ts';
import { dataMounts, places, writableMounts } from './volumes.ts';

/** What was found out about a request before its pod is put together. */
type Decided = {
  readonly users: Users;
  readonly network: NetworkClass;
  readonly injected: Injected;
  /** Its ids are no other pod's on its node. */
  readonly ownIds: boolean;
};

/** Watches and the table of causes know the sandbox's own container by it. */
export const sandboxContainerName = 'sandbox';

/**
 * The container that sandboxd and all commands run in; the image's ENTRYPOINT is not run, its WORKDIR stands.
 *
 * It has no probes of the kubelet's. Whether a sandbox may be used is asked by the controller, once, with a no-op at
 * sandboxd's own address; a readiness probe would be asked again every few seconds by every node for every sandbox, for
 * a Service that nobody uses. And a liveness probe could only kill a sandbox that a command has made slow.
 */
export function sandboxContainer(
  request: CreateRequest,
  settings: PodSettings,
  { users, network, injected, ownIds }: Decided,
): V1Container {
  return {
    name: sandboxContainerName,
    image: imageOf(request.template),
    imagePullPolicy: settings.imagePullPolicy,
    command: [...sandboxdArgv(injected.payload)],
    env: variables(request, network, users, { port: settings.port, payload: injected.payload }),
    ports: [{ name: 'sandboxd', containerPort: settings.port }],
    resources: resources(request.template, settings.sandboxd),
    securityContext: sandboxSecurity(users, ownIds),
    ...(injected.lastWords === null ? {} : { terminationMessagePath: injected.lastWords }),
    volumeMounts: [...writableMounts(request.template), ...dataMounts(request.template), ...injected.mounts],
  };
}

/** Throws `start_failed` for what only one machine of one's own has. */
function imageOf({ image, data }: Template): string {
  if (image.kind !== 'image') {
    const kind = image.kind === 'host' ? 'host' : `rootfs:${image.path}`;
    refuse(`image: ${kind} is a folder of one machine: name an image that the cluster can pull`, {
      image: kind,
    });
  }
  const folder = data.find((each) => !('image' in each));
  if (folder !== undefined) {
    refuse(`the data at ${folder.target} is made of folders of one machine: name an image that holds it`, {
      data: folder.target,
    });
  }
  return image.reference;
}

function refuse(sentence: string, evidence: Readonly<Record<string, string>>): never {
  throw new Failure('start_failed', sentence, { evidence });
}

const mebibyte = 1024 * 1024;

/**
 * What a sandbox may take. Disk is asked for in full: where promises exceed the node's disk, the kubelet evicts whom it
 * likes, and that would be our failure. Processes cannot be limited by a pod; the kubelet's `podPidsLimit` does, for all
 * pods of a node alike.
 */
export function resources(template: Template, injection: SandboxdInjection): V1ResourceRequirements {
  const { cpu, memory } = template;
  const disk = String(template.diskBytes + (injection.kind === 'init_container' ? copiedPayloadBytes : 0));
  const rest = { 'ephemeral-storage': disk, ...devices(template) };
  return {
    requests: { ...amounts(cpu.requestMilli, memory.requestBytes), ...rest },
    limits: { ...amounts(cpu.limitMilli, memory.limitBytes), ...rest },
  };
}

/** Whole ones, of which a request and its limit are the same. */
const devices = ({ devices: counts = {} }: Template): Record<string, string> =>
  Object.fromEntries(Object.entries(counts).map(([name, count]) => [name, String(count)]));

const amounts = (cpuMilli: number, memoryBytes: number) => ({
  cpu: `${cpuMilli}m`,
  memory: String(memoryBytes),
});

/**
 * sandboxd's settings and what the template adds to the image's own ENV, which stands beside it. `CORRAL_WORKSPACE` is
 * left out: commands work in the image's WORKDIR, and sandboxd finds that as its own folder. The token is not here,
 * only its hash.
 */
function variables(
  { sandbox, template, tokenSha256 }: CreateRequest,
  network: NetworkClass,
  users: Users,
  { port, payload }: { readonly port: number; readonly payload: string },
): V1EnvVar[] {
  return Object.entries({
    ...homeOf(users),
    ...network.env,
    ...template.env,
    CORRAL_SANDBOX_ID: sandbox,
    CORRAL_TOKEN_SHA256: tokenSha256,
    CORRAL_LISTEN: `tcp:0.0.0.0:${port}`,
    CORRAL_USERS: users,
    CORRAL_DISK_MIB: String(Math.ceil(template.diskBytes / mebibyte)),
    CORRAL_SHM_MIB: String(Math.ceil((template.shmBytes ?? usualShmBytes) / mebibyte)),
    // Also with ids of its own: the kernel counts much for whom the runtime is, too.
    CORRAL_SHARED_LIMITS: 'user',
    CORRAL_PAYLOAD: payload,
    CORRAL_GRADER_FOLDER: places.grader,
    ...foldersVariable(template),
    CORRAL_POLICY_UID: String(ids.policy),
    CORRAL_POLICY_GID: String(ids.policy),
    CORRAL_GRADER_UID: String(ids.grader),
    CORRAL_GRADER_GID: String(ids.grader),
  }).map(([name, value]) => ({ name, value: literal(value) }));
}

/** The runtime gives the home of whom sandboxd starts as: root's, which the commands' user may not enter, or `/`. */
const homeOf = (users: Users): Readonly<Record<string, string>> =>
  users === 'root' ? {} : { HOME: places.workspace };

/** Kubernetes expands `$(NAME)`; of two dollars it leaves one, wherever they stand. */
const literal = (value: string) => value.replaceAll('$', '$$$$');
