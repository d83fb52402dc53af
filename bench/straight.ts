import { createSandboxdHttpLink } from '#src/adapters/sandboxd-http/link.ts';
import { bootId, callId, rolloutId, runId, sandboxId, type SandboxId, tenantId } from '#src/model/ids.ts';
import type { SandboxAddress } from '#src/model/rollout.ts';
import type { Template } from '#src/model/environment.ts';
import type { SandboxTarget } from '#src/ports/sandbox-link.ts';
import { tokenSha256 } from '#src/platform/tokens.ts';
import { type CallAnswer, type CallRequest, protocolVersion } from '#src/protocol/sandboxd/wire.ts';
import { startNodeProcess, testTemplate } from '#test/support/sandboxes.ts';

const token = 'bench';
const hourMs = 3_600_000;
/** The longest that sandboxd holds one request. */
const heldMs = 600_000;
const signal = () => AbortSignal.timeout(hourMs);
const mebibyte = 1024 * 1024;

/** Sandboxes on the same machine that no gateway, Redis or controller knows: what everything else is compared with. */
export type Straight = AsyncDisposable & {
  /** Creates one and waits until its sandboxd answers. */
  createOnly(): Promise<SandboxTarget>;
  /** Runs a no-op in it, as the last step of a start. */
  probe(target: SandboxTarget): Promise<void>;
  /** Creates so many and waits until each has answered a no-op. */
  create(count: number): Promise<readonly SandboxTarget[]>;
  bind(target: SandboxTarget): Promise<void>;
  exec(target: SandboxTarget, call: string, command: string): Promise<CallAnswer>;
  run(target: SandboxTarget, call: string, action: CallRequest['action']): Promise<CallAnswer>;
  /** As the gateway does: with the next request. */
  settled(target: SandboxTarget, answer: CallAnswer): void;
  destroy(target: SandboxTarget): Promise<void>;
};

/** As many bytes as the gateway keeps of an answer by default. */
const keepBytes = 65_536;

export async function startStraight(data: Template['data'] = []): Promise<Straight> {
  const node = await startNodeProcess();
  const link = createSandboxdHttpLink({ tokenOf: () => token, connectTimeoutMs: 10_000 });
  const template = testTemplate({
    data,
    memory: { requestBytes: 256 * mebibyte, limitBytes: 512 * mebibyte },
  });
  const addresses = watchAddresses(node.provider);
  let made = 0;
  const createOnly = async (): Promise<SandboxTarget> => {
    made += 1;
    const sandbox = sandboxId(`straight-${made}`);
    await node.provider.create({ sandbox, template, tokenSha256: tokenSha256(token) });
    const address = await addresses.of(sandbox);
    const target = { sandbox, address, boot: null };
    const { boot } = await link.identity(target, signal());
    return { ...target, boot: bootId(boot) };
  };
  const probe: Straight['probe'] = async (target) => {
    await link.probe(target, 'whole', signal());
  };
  const createReady = async (): Promise<SandboxTarget> => {
    const target = await createOnly();
    await probe(target);
    return target;
  };
  const run: Straight['run'] = async (target, call, action) => {
    const request = { digest: call, action, timeoutMs: hourMs, keepBytes };
    const answer = await link.call(target, callId(call), request, heldMs, signal());
    if (answer === 'running') throw new Error(`${call} did not end`);
    return answer;
  };
  return {
    createOnly,
    probe,
    create: (count) => Promise.all(Array.from({ length: count }, createReady)),
    bind: async (target) => {
      const owner = {
        tenant: tenantId('bench'),
        run: runId('bench'),
        rollout: rolloutId(target.sandbox),
        attempt: 1,
        role: 'policy',
      };
      await link.bind(target, { protocol: protocolVersion, owner, expiresInMs: hourMs }, signal());
    },
    exec: (target, call, command) => run(target, call, { kind: 'exec', argv: ['sh', '-c', command] }),
    run,
    settled: (target, answer) => link.settled(target, [callId(answer.callId)]),
    destroy: (target) => node.provider.destroy(target.sandbox),
    [Symbol.asyncDispose]: async () => {
      await link.close();
      await addresses.close();
      await node.stop();
    },
  };
}

type Provider = Awaited<ReturnType<typeof startNodeProcess>>['provider'];

/** Where sandboxes are to be found, told as soon as each runs: node says so only when its sandboxd accepts connections. */
function watchAddresses(provider: Provider) {
  const known = new Map<SandboxId, PromiseWithResolvers<SandboxAddress>>();
  const entry = (sandbox: SandboxId) => {
    const found = known.get(sandbox) ?? Promise.withResolvers<SandboxAddress>();
    known.set(sandbox, found);
    return found;
  };
  const closing = new AbortController();
  const watching = provider.watch((event) => {
    if (event.kind === 'running') entry(event.sandbox).resolve(event.address);
    if (event.kind === 'gone')
      entry(event.sandbox).reject(new Error(`${event.sandbox} is gone: ${event.cause}`));
  }, closing.signal);
  return {
    of: (sandbox: SandboxId) => entry(sandbox).promise,
    close: async () => {
      closing.abort();
      await watching;
    },
  };
}
