import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isAlive, parseIdentity } from '#cli/fleet/process-identity.ts';
import type { LocalSandbox } from '#cli/fleet/sandbox-list.ts';
import { type FleetEvent, startFleet } from '#cli/fleet/start-fleet.ts';
import type { PartEvent } from '#cli/fleet/supervise.ts';
import { inOwnFolder } from '#cli/fleet/temporary-fleet.ts';
import { brokenGraderScore } from '../trainer/judge.ts';
import { startExtraGateway } from './extra-gateway.ts';

export type SoakFleet = {
  readonly gatewayUrl: string;
  /** A second gateway of the same fleet. */
  readonly otherGatewayUrl: string;
  readonly apiKey: string;
  sandboxes(): Promise<readonly LocalSandbox[]>;
  /** Of a part that runs now; null while it is being started again. */
  pidOf(part: Part): Promise<number | null>;
  /** Ends every part and removes its folder; idempotent. */
  stop(): Promise<void>;
};

export type Part = 'gateway' | 'other gateway' | 'controller' | 'redis' | 'node';

const payloadDir = join(import.meta.dirname, '../../out/payload');

/** A real fleet on this machine, in a folder of its own. Redis writes to disk, as it would in production. */
export async function startSoakFleet(
  speed: number,
  pool: { readonly minReady: number; readonly max: number },
  onReady: (part: Part) => void,
): Promise<SoakFleet> {
  const onEvent = (event: FleetEvent) => {
    if (event.kind === 'ready' && event.part !== 'console') onReady(event.part);
  };
  const onOtherEvent = (event: PartEvent) => {
    if (event.kind === 'ready') onReady('other gateway');
  };
  return inOwnFolder('soak', async (root) => {
    const environmentsDir = join(root, 'environments');
    await mkdir(environmentsDir);
    await writeFile(join(environmentsDir, `${environmentName}.yaml`), soakEnvironment(speed, pool));
    const stateDir = join(root, 'state');
    const fleet = await startFleet({ environmentsDir, stateDir, payloadDir, keepRecords: true, onEvent });
    const other = await startExtraGateway(fleet, environmentsDir, onOtherEvent).catch(
      async (error: unknown) => {
        await fleet.stop();
        throw error;
      },
    );
    return {
      gatewayUrl: fleet.gatewayUrl,
      otherGatewayUrl: other.url,
      apiKey: fleet.apiKey,
      sandboxes: () => fleet.sandboxes(),
      pidOf: async (part) =>
        part === 'other gateway' ? other.pid() : pidIn(join(fleet.stateDir, 'parts', `${part}.json`)),
      stop: async () => {
        await other.stop();
        await fleet.stop();
      },
    };
  });
}

async function pidIn(recordFile: string): Promise<number | null> {
  const identity = parseIdentity(await readFile(recordFile, 'utf8').catch(() => ''));
  return identity !== null && isAlive(identity) ? identity.pid : null;
}

export const environmentName = 'soak';

const minuteMs = 60_000;

/**
 * The environment of a soak as YAML: limits as in production, divided by `speed`. The grader counts the lines of the
 * evidence file, which is there for every rollout that made a call.
 */
function soakEnvironment(speed: number, pool: { readonly minReady: number; readonly max: number }): string {
  const scaled = (durationMs: number) => `${Math.round(durationMs / speed)}ms`;
  // A rollout, its last call and its grade; a fast soak's sandboxes still outlive what hurts them.
  const hardLifeMs = Math.max(10 * minuteMs, Math.round((45 * minuteMs) / speed));
  return `
name: ${environmentName}
sandbox: { image: host, memory: 96Mi, disk: 16Mi, processes: 64 }
tools: { shell: { builtin: shell, timeout: ${scaled(8 * minuteMs)} } }
limits: { tool_calls: 200, rollout: ${scaled(30 * minuteMs)}, idle: ${scaled(15 * minuteMs)}, grade: 90s, hard_life: ${hardLifeMs}ms }
grader:
  kind: command
  command: [sh, -c, 'as-policy sh -c "cat calls 2>/dev/null | wc -l" > "$CORRAL_SCORE_FILE"']
  timeout: 30s
  on_exit: ${brokenGraderScore}
  on_timeout: ${brokenGraderScore}
  on_out_of_memory: ${brokenGraderScore}
  on_broken: ${brokenGraderScore}
pool: { min_ready: ${pool.minReady}, max: ${pool.max} }
`;
}
