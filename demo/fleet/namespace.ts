import { PassThrough } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { ApiException, CoreV1Api, Exec, KubeConfig, type V1Status } from '@kubernetes/client-node';
import { sandboxContainerName } from '#src/adapters/kubernetes/pod/container.ts';

/** A namespace of a cluster that is ours as long as the demo runs. */
export type DemoNamespace = {
  readonly name: string;
  /** SIGKILL to sandboxd, from inside its pod, as the kernel would; false when there is no such pod. */
  killSandbox(sandbox: string): Promise<boolean>;
  /** With everything in it; resolves when it is gone, or after a minute when the cluster is slow. */
  remove(): Promise<void>;
};

const killSandboxd = ['sh', '-c', 'kill -KILL $(grep -lx sandboxd /proc/[0-9]*/comm | cut -d/ -f3)'];

const removeDeadlineMs = 60_000;
const removeEveryMs = 500;

/** Makes the namespace in the cluster that kubectl would use. Rejects with the API server's words. */
export async function openNamespace(name: string): Promise<DemoNamespace> {
  const config = new KubeConfig();
  config.loadFromDefault();
  const core = config.makeApiClient(CoreV1Api);
  await core.createNamespace({ body: { metadata: { name } } });
  await untilPodsAreAccepted(core, name);
  return {
    name,
    killSandbox: async (sandbox) => {
      // A sandbox's own id is its pod's name.
      if ((await orMissing(core.readNamespacedPod({ name: sandbox, namespace: name }))) === null)
        return false;
      await run(config, { namespace: name, pod: sandbox }, killSandboxd);
      return true;
    },
    remove: async () => {
      await orMissing(core.deleteNamespace({ name }));
      await until(async () => (await orMissing(core.readNamespace({ name }))) === null);
    },
  };
}

/** Pods are refused until the cluster has made the namespace's service account. */
function untilPodsAreAccepted(core: CoreV1Api, namespace: string): Promise<void> {
  return until(
    async () => (await orMissing(core.readNamespacedServiceAccount({ name: 'default', namespace }))) !== null,
  );
}

async function until(done: () => Promise<boolean>): Promise<void> {
  const giveUpMs = performance.now() + removeDeadlineMs;
  while (!(await done()) && performance.now() < giveUpMs) await sleep(removeEveryMs);
}

/** Null where the cluster has no such thing. */
async function orMissing<Found>(asked: Promise<Found>): Promise<Found | null> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof ApiException && error.code === 404) return null;
    throw error;
  }
}

type PodPlace = { readonly namespace: string; readonly pod: string };

/** Runs a command in a pod; rejects with its last words when it fails. */
async function run(config: KubeConfig, { namespace, pod }: PodPlace, argv: string[]): Promise<void> {
  const ended = Promise.withResolvers<V1Status>();
  // At least one stream must be asked for.
  const spoken = new PassThrough();
  const socket = await new Exec(config).exec(
    namespace,
    pod,
    sandboxContainerName,
    argv,
    null,
    spoken,
    null,
    false,
    ended.resolve,
  );
  socket.addEventListener('close', () => ended.resolve({ message: 'the connection was closed' }));
  const { status, message } = await ended.promise;
  if (status !== 'Success')
    throw new Error(`${argv[0]} in pod ${pod} failed: ${message}, ${spoken.read() ?? ''}`);
}
