import { once } from 'node:events';
import { request } from 'node:http';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { defaultStartBudget } from '#services/controller/config.ts';
import { createSandboxdHttpLink } from '#src/adapters/sandboxd-http/link.ts';
import { loadPermitted } from '#src/environments/load-environments.ts';
import { type Environment, isOpenTemplate, type Template } from '#src/model/environment.ts';
import { callId, rolloutId, runId, sandboxId, tenantId } from '#src/model/ids.ts';
import type { SandboxAddress } from '#src/model/rollout.ts';
import { systemClock } from '#src/platform/clock.ts';
import { systemRandom } from '#src/platform/random.ts';
import { tokenSha256 } from '#src/platform/tokens.ts';
import { createProvenTemplates, startSandbox } from '#src/pool/launch/start.ts';
import { SandboxAccount } from '#src/pool/sandbox-account.ts';
import type { SandboxTarget } from '#src/ports/sandbox-link.ts';
import type { CreateRequest } from '#src/ports/sandbox-provider.ts';
import { protocolVersion } from '#src/protocol/sandboxd/wire.ts';
import { actionOf } from '#src/tools/action.ts';
import { type BareEngine, openBareEngine } from './engine.ts';
import type { BareResult, BareTask } from './run-bare.ts';

/**
 * A burst without a fleet, in a process of its own: no gateway, controller, node or Redis. As many starts at once as a
 * controller's budget has, and the steps of a start are the production's own. Its parent says when to begin and when to end.
 */
const token = 'bare';
const hourMs = 3_600_000;
/** As the gateway keeps of an answer by default, and as sandboxd holds a request at most. */
const [keepBytes, heldMs] = [65_536, 600_000];

const task = JSON.parse(process.argv[2] ?? '') as BareTask;
const { environment, template } = await environmentIn(join(import.meta.dirname, '../environments'));
const { fleet, stateFolder, payloadDir } = task;
const engine = await openBareEngine({ fleet, stateFolder, payloadDir });
const link = createSandboxdHttpLink({ tokenOf: () => token, connectTimeoutMs: 10_000 });
const tools = startToolsOf(engine);
let named = 0;

/** Who gets a warm sandbox uses it at once; whoever started one has his place in the budget given back, and uses it then. */
async function untilCommand(warm: readonly SandboxTarget[]): Promise<void> {
  const used = warm.map(use);
  await together(task.starts, async () => {
    const target = await start();
    used.push(use(target));
  });
  await Promise.all(used);
}

/** So many, as many at once as the fleet's start budget has. */
async function together<Result>(count: number, work: () => Promise<Result>): Promise<readonly Result[]> {
  const results: Result[] = [];
  let begun = 0;
  const lane = async () => {
    while (begun < count) {
      begun += 1;
      results.push(await work());
    }
  };
  await Promise.all(Array.from({ length: defaultStartBudget(availableParallelism()) }, lane));
  return results;
}

function nextRequest(): CreateRequest {
  named += 1;
  return { sandbox: sandboxId(`bare-${named}`), template, tokenSha256: tokenSha256(token) };
}

/** What a controller does, until the sandbox is ready. */
async function start(): Promise<SandboxTarget> {
  const { sandbox } = nextRequest();
  const progress = { step: 'create' as const, waitingOut: null, entered: () => undefined };
  const started = await startSandbox(tools, sandbox, template, progress, signal());
  if (started.kind === 'taken') throw new Error(`${sandbox} is somebody’s`);
  return { sandbox, address: started.address, boot: started.boot };
}

/** What a gateway does with it then, until the first command is answered. */
async function use(target: SandboxTarget): Promise<void> {
  const of = { tenant: tenantId('bench'), run: runId('bench'), rollout: rolloutId(target.sandbox) };
  const owner = { ...of, attempt: 1, role: 'policy' as const };
  await link.bind(target, { protocol: protocolVersion, owner, expiresInMs: hourMs, programs: [] }, signal());
  const tool = environment.tools['shell'];
  if (tool === undefined) throw new Error('the environment has no shell');
  const action = actionOf(tool, { command: task.command });
  const call = { digest: 'd'.repeat(64), action, timeoutMs: hourMs, keepBytes };
  const answer = await link.call(target, callId('call'), call, heldMs, signal());
  const ran = answer !== 'running' && answer.ending.kind === 'exited' && answer.ending.exitCode === 0;
  if (!ran) throw new Error(`a command failed in ${target.sandbox}: ${JSON.stringify(answer)}`);
}

async function health(): Promise<void> {
  const address = await engine.start(nextRequest());
  while (!(await isHealthy(address))) await systemClock.sleep(1);
}

function isHealthy(address: SandboxAddress): Promise<boolean> {
  return new Promise((resolve) => {
    const socketPath = address.slice('unix:'.length);
    const asked = request({ socketPath, path: '/health' }, (answer) => {
      answer.resume();
      resolve(answer.statusCode === 200);
    });
    asked.once('error', () => resolve(false));
    asked.end();
  });
}

function startToolsOf(bare: BareEngine) {
  const account = new SandboxAccount();
  return {
    provider: {
      create: async (request: CreateRequest) => {
        const { sandbox } = request;
        account.apply({ kind: 'running', sandbox, address: await bare.start(request) });
      },
    },
    link,
    account,
    proven: createProvenTemplates(),
    clock: systemClock,
    random: systemRandom,
    tokenSha256Of: () => tokenSha256(token),
  };
}

/** The environment that the fleet of the same benchmark serves. */
async function environmentIn(
  folder: string,
): Promise<{ readonly environment: Environment; readonly template: Template }> {
  const catalog = await loadPermitted(folder, null);
  const found = catalog.all().find(({ name }) => name === 'bench');
  if (found === undefined || isOpenTemplate(found.template))
    throw new Error(`no environment "bench" in ${folder}`);
  return { environment: found, template: found.template };
}

function tell(message: 'warm' | BareResult): void {
  process.send?.(message);
}

async function told(word: string): Promise<void> {
  const [message] = (await once(process, 'message')) as [unknown];
  if (message !== word) throw new Error(`told ${String(message)}, not ${word}`);
}

function signal(): AbortSignal {
  return AbortSignal.timeout(hourMs);
}

try {
  const warm = await together(task.warm, () => start());
  tell('warm');
  await told('begin');
  const beganMs = performance.now();
  if (task.until === 'health') await together(task.starts, health);
  else await untilCommand(warm);
  tell({ lastMs: performance.now() - beganMs });
  await told('end');
} finally {
  await link.close();
  await engine[Symbol.asyncDispose]();
}
process.disconnect();
