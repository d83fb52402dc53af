import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect } from 'vitest';
import type { PartName } from '#cli/fleet/part-process.ts';
import type { LocalSandbox } from '#cli/fleet/sandbox-list.ts';
import { type Fleet, startFleet } from '#cli/fleet/start-fleet.ts';
import type { Timings } from '#src/model/timings.ts';
import { type Faces, facesOf } from './faces.ts';
import { partsOfFleet } from './parts-of-fleet.ts';

/** A whole fleet of one test file, in a folder of its own, and both faces of it. */
export type FleetOfTest = Faces & {
  readonly fleet: Fleet;
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
};

const repository = join(import.meta.dirname, '../..');
/** Built once and shared: it is kept by content, and building it is most of a first start. */
export const sharedPayload = join(repository, 'out/payload');

/** Two sandboxes ready: enough for a test that speaks to one rollout while another starts. */
export const shellEnvironment = `
name: shell
sandbox: { image: host, disk: 64Mi, processes: 64 }
tools: { shell: { builtin: shell, timeout: 30s } }
grader: { kind: text, reference: item.answer }
pool: { min_ready: 2, max: 8 }
`;

/** An environment folder with these files, the state folder beside it; the caller removes `root`. */
export async function fleetFolders(
  environments: Readonly<Record<string, string>>,
  files: Readonly<Record<string, string>> = {},
) {
  const root = await mkdtemp(join(tmpdir(), 'corral-e2e-'));
  const environmentsDir = join(root, 'environments');
  await mkdir(environmentsDir);
  for (const [name, yaml] of Object.entries(environments)) {
    await writeFile(join(environmentsDir, `${name}.yaml`), yaml);
  }
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(environmentsDir, name)), { recursive: true });
    await writeFile(join(environmentsDir, name), text);
  }
  return { root, environmentsDir, stateDir: join(root, 'state') };
}

/** Starts redis, node, controller and gateway; resolves when all answer ready. */
export async function startFleetOfTest({
  environments,
  files = {},
  keepRecords = false,
  timings = {},
}: FleetOfTestOptions): Promise<FleetOfTest> {
  const { root, environmentsDir, stateDir } = await fleetFolders(environments, files);
  const { onEvent, killPart, stop } = partsOfFleet(stateDir);
  const remove = () => rm(root, { recursive: true, force: true });
  const options = { environmentsDir, stateDir, payloadDir: sharedPayload, keepRecords, timings, onEvent };
  const fleet = await startFleet(options).catch((error: unknown) =>
    remove().then(() => Promise.reject(error)),
  );
  const faces = facesOf(fleet.gatewayUrl, fleet.apiKey);
  const sandboxOf = (rollout: string) => findSandbox(fleet, faces, rollout);
  return {
    ...faces,
    fleet,
    sandboxOf,
    killSandboxOf: async (rollout) => void process.kill((await sandboxOf(rollout)).pid, 'SIGKILL'),
    killPart,
    stop: () => stop(fleet, remove),
  };
}

async function findSandbox(fleet: Fleet, { native }: Faces, rollout: string): Promise<LocalSandbox> {
  const view = await native.get(`/v1/rollouts/${rollout}`);
  expect(view.body).toMatchObject({ epoch: { sandbox: expect.any(String) } });
  const { sandbox } = (view.body as { epoch: { sandbox: string } }).epoch;
  const found = (await fleet.sandboxes()).find((one) => one.sandbox === sandbox);
  if (found === undefined) throw new Error(`rollout ${rollout} holds ${sandbox}, which node does not list`);
  return found;
}
