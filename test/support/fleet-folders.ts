import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

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
  await writeEnvironments(environmentsDir, environments, files);
  return { root, environmentsDir, stateDir: join(root, 'state') };
}

/** Files first: an environment may name them. */
export async function writeEnvironments(
  folder: string,
  environments: Readonly<Record<string, string>>,
  files: Readonly<Record<string, string>>,
): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
  for (const [name, yaml] of Object.entries(environments))
    await writeFile(join(folder, `${name}.yaml`), yaml);
}
