import { createHash, randomBytes } from 'node:crypto';
import { createSandboxdHttpLink } from '#src/adapters/sandboxd-http/link.ts';
import { bootId, callId, sandboxId, type SandboxId } from '#src/model/ids.ts';
import type { Template } from '#src/model/environment.ts';
import type { SandboxTarget } from '#src/ports/sandbox-link.ts';
import { type CallAnswer, type CallRequest, protocolVersion } from '#src/protocol/sandboxd/wire.ts';
import { type RecordedEvents, recordEvents } from './provider-events.ts';
import { type TestNode, testTemplate } from './sandboxes.ts';

/** A bound sandbox of a test's node, whose commands a test can run. */
export type Inside = {
  readonly sandbox: SandboxId;
  readonly events: RecordedEvents;
  /** Runs `sh -c script` as the policy, or as sandboxd's own user where the template says so. */
  sh(script: string): Promise<CallAnswer>;
  /** Any action of the protocol; in `timeoutMs` of its own. */
  run(action: CallRequest['action'], timeoutMs?: number): Promise<CallAnswer>;
  /** Ends the watch and the connections, and destroys the sandbox. */
  leave(): Promise<void>;
};

const callTimeoutMs = 15_000;

/** Creates a sandbox, waits until it runs, binds it. */
export async function goInside(node: TestNode, changes: Partial<Template> = {}): Promise<Inside> {
  const sandbox = sandboxId(`s-${randomBytes(8).toString('hex')}`);
  const token = randomBytes(16).toString('hex');
  const tokenSha256 = createHash('sha256').update(token).digest('hex');
  const events = recordEvents(node.provider);
  await node.provider.create({ sandbox, template: testTemplate(changes), tokenSha256 });
  const { address } = await events.of(sandbox, 'running');
  const link = createSandboxdHttpLink({ tokenOf: () => token, connectTimeoutMs: 5000 });
  const { boot } = await link.identity({ sandbox, address, boot: null }, timeout());
  const target: SandboxTarget = { sandbox, address, boot: bootId(boot) };
  await link.bind(target, { protocol: protocolVersion, owner, expiresInMs: 600_000 }, timeout());
  let calls = 0;
  const run = async (action: CallRequest['action'], timeoutMs = callTimeoutMs) => {
    calls += 1;
    const id = `c${calls}`;
    const request = { digest: id, action, timeoutMs, keepBytes: 65_536 };
    const patienceMs = Math.max(callTimeoutMs, timeoutMs);
    const signal = AbortSignal.timeout(patienceMs);
    const answer = await link.call(target, callId(id), request, patienceMs, signal);
    if (answer === 'running') throw new Error(`still running: ${JSON.stringify(action)}`);
    return answer;
  };
  return {
    sandbox,
    events,
    sh: (script) => run({ kind: 'exec', argv: ['sh', '-c', script] }),
    run,
    leave: async () => {
      await node.provider.destroy(sandbox);
      await events.of(sandbox, 'gone');
      await events.stop();
      await link.close();
    },
  };
}

const owner = { tenant: 't', run: 'r', rollout: 'x', attempt: 1, role: 'policy' };

const timeout = () => AbortSignal.timeout(callTimeoutMs);
