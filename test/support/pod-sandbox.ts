import { createHash, randomBytes } from 'node:crypto';
import { type Cluster, kubectl } from '#infra/cluster/api.ts';
import { podFor } from '#src/adapters/kubernetes/pod/pod.ts';
import type { PodSettings } from '#src/model/cluster.ts';
import { createSandboxdHttpLink } from '#src/adapters/sandboxd-http/link.ts';
import type { Template } from '#src/model/environment.ts';
import { bootId, callId, sandboxId } from '#src/model/ids.ts';
import { sandboxAddress } from '#src/model/rollout.ts';
import type { SandboxLink, SandboxTarget } from '#src/ports/sandbox-link.ts';
import type { CommandUser } from '#src/protocol/sandboxd/wire.ts';
import { podRequest, podSettings } from '../fakes/pod-request.ts';
import { aBind, aShellCall } from './sandboxd.ts';

/** A sandbox in a real pod, bound to a rollout, and a line to it. */
export type PodSandbox = AsyncDisposable & {
  readonly link: SandboxLink;
  readonly target: SandboxTarget;
  /** Runs a command line; gives its stdout, and its stderr where there is any. */
  sh(command: string, user?: CommandUser): Promise<string>;
};

/** From create to bound; the image is on the node already. */
const startTimeoutMs = 60_000;

/** Creates the pod of such a template in the cluster's default namespace, probes it and binds it. */
export async function startPodSandbox(
  cluster: Cluster,
  template: Partial<Template>,
  settings: Partial<PodSettings> = {},
): Promise<PodSandbox> {
  const token = randomBytes(16).toString('hex');
  const sandbox = sandboxId(`test-${randomBytes(6).toString('hex')}`);
  const tokenSha256 = createHash('sha256').update(token).digest('hex');
  const request = { ...podRequest(template), sandbox, tokenSha256 };
  const whole = podSettings({ namespace: 'default', imagePullPolicy: 'Never', ...settings });
  const link = createSandboxdHttpLink({ tokenOf: () => token, connectTimeoutMs: 2_000 });
  const remove = async () => {
    await link.close();
    await kubectl(cluster, ['delete', 'pod', sandbox, '--grace-period=0', '--force', '--ignore-not-found']);
  };
  try {
    await kubectl(cluster, ['create', '-f', '-'], JSON.stringify(podFor(request, whole)));
    const address = await addressOf(cluster, sandbox, whole.port);
    const target = await bound(link, { sandbox, address, boot: null });
    return { link, target, sh: shell(link, target), [Symbol.asyncDispose]: remove };
  } catch (error) {
    const words = await kubectl(cluster, ['describe', 'pod', sandbox]).catch(String);
    await remove();
    throw new Error(`the sandbox did not start:\n${words}`, { cause: error });
  }
}

async function addressOf(cluster: Cluster, pod: string, port: number) {
  await kubectl(cluster, ['wait', 'pod', pod, '--for=condition=Ready', `--timeout=${startTimeoutMs}ms`]);
  const ip = await kubectl(cluster, ['get', 'pod', pod, '-o', 'jsonpath={.status.podIP}']);
  return sandboxAddress(`http://${ip}:${port}`);
}

/** The pod is Ready when its process runs; sandboxd listens some 100 ms later. */
async function bound(link: SandboxLink, stranger: SandboxTarget): Promise<SandboxTarget> {
  const signal = AbortSignal.timeout(startTimeoutMs);
  for (;;) {
    const identity = await link.identity(stranger, signal).catch((error: unknown) => {
      if (signal.aborted) throw error;
      return null;
    });
    if (identity === null) continue;
    const target = { ...stranger, boot: bootId(identity.boot) };
    await link.probe(target, 'whole', signal);
    await link.bind(target, aBind(), signal);
    return target;
  }
}

const shell = (link: SandboxLink, target: SandboxTarget) => {
  let calls = 0;
  return async (command: string, user: CommandUser = 'policy') => {
    calls += 1;
    const call = aShellCall(command, { user });
    const answer = await link.call(target, callId(`c${calls}`), call, 10_000, AbortSignal.timeout(30_000));
    if (answer === 'running') throw new Error(`${command} still runs`);
    return answer.stdout.head + answer.stderr.head;
  };
};
