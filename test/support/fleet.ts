import { existsSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, vi } from 'vitest';
import type { PartName } from '#cli/fleet/part-process.ts';
import type { LocalSandbox } from '#cli/fleet/sandbox-list.ts';
import { type Fleet, startFleet } from '#cli/fleet/start-fleet.ts';
import { sandboxdOf } from '#loadtest/fleet/sandbox-of.ts';
import type { Timings } from '#src/model/timings.ts';
import { type Faces, facesOf } from './faces.ts';
import { fleetFolders, sharedPayload, shellEnvironment } from './fleet-folders.ts';
import { partsOfFleet } from './parts-of-fleet.ts';

/** A whole fleet of one test file, in a folder of its own, and both faces of it. */
export type FleetOfTest = Faces & {
  readonly fleet: Fleet;
  readonly environmentsDir: string;
  /** The sandbox that a rollout of the development run holds now. */
  sandboxOf(rollout: string): Promise<LocalSandbox>;
  /** SIGKILL to the rollout's sandbox, as a kernel or a clumsy operator would. */
  killSandboxOf(rollout: string): Promise<void>;
  /** SIGKILL to one part; resolves when the fleet has it ready again. */
  killPart(part: PartName): Promise<void>;
  /** Stops it, and fails if it left anything on the machine. */
  stop(): Promise<void>;
};

export type FleetOfTestOptions = {
  /** Environments as YAML, by name. */
  readonly environments: Readonly<Record<string, string>>;
  /** Files beside them that they name, by name. */
  readonly files?: Readonly<Record<string, string>>;
  /** Redis writes everything to disk, and comes back with it. Default: it comes back with nothing. */
  readonly keepRecords?: boolean;
  /** Default: production's. */
  readonly timings?: Partial<Timings>;
  /** What the operator allows, as YAML. Default: everything that is allowed without a policy. */
  readonly policy?: string;
};

export { fleetFolders, sharedPayload, shellEnvironment };

/** Starts redis, node, controller and gateway; resolves when all answer ready. */
export async function startFleetOfTest({
  environments,
  files = {},
  keepRecords = false,
  timings = {},
  policy,
}: FleetOfTestOptions): Promise<FleetOfTest> {
  const { root, environmentsDir, stateDir } = await fleetFolders(environments, files);
  const { onEvent, killPart, stop } = partsOfFleet(stateDir);
  const remove = () => rm(root, { recursive: true, force: true });
  const policyFile = join(root, 'policy.yaml');
  if (policy !== undefined) await writeFile(policyFile, policy);
  const options = {
    environmentsDir,
    stateDir,
    payloadDir: sharedPayload,
    keepRecords,
    timings,
    onEvent,
    ...(policy !== undefined && { policyFile }),
  };
  const fleet = await startFleet(options).catch((error: unknown) =>
    remove().then(() => Promise.reject(error)),
  );
  const faces = facesOf(fleet.gatewayUrl, fleet.apiKey);
  const sandboxOf = (rollout: string) => findSandbox(fleet, faces, rollout);
  return {
    ...faces,
    fleet,
    environmentsDir,
    sandboxOf,
    killSandboxOf: async (rollout) => killSandbox(await sandboxOf(rollout)),
    killPart,
    stop: () => stop(fleet, remove),
  };
}

/** Resolves when the sandbox no longer answers: the kernel kills its daemon a moment after its first process. */
async function killSandbox(sandbox: LocalSandbox): Promise<void> {
  const daemon = await sandboxdOf(sandbox);
  process.kill(sandbox.pid, 'SIGKILL');
  await vi.waitUntil(() => daemon === null || !existsSync(`/proc/${daemon}`), { timeout: 30_000 });
}

async function findSandbox(fleet: Fleet, { native }: Faces, rollout: string): Promise<LocalSandbox> {
  const view = await native.get(`/v1/rollouts/${rollout}`);
  expect(view.body).toMatchObject({ epoch: { sandbox: expect.any(String) } });
  const { sandbox } = (view.body as { epoch: { sandbox: string } }).epoch;
  const found = (await fleet.sandboxes()).find((one) => one.sandbox === sandbox);
  if (found === undefined) throw new Error(`rollout ${rollout} holds ${sandbox}, which node does not list`);
  return found;
}
