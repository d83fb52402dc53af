import { mkdir, mkdtemp, rename, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** A file of a Secret as a kubelet mounts it: `name` → `..data/name`, where `..data` → a folder that is never written twice. */
export async function mountSecret(folder: string, name: string, text: string) {
  const write = async (content: string): Promise<void> => {
    await mkdir(folder, { recursive: true });
    const written = await mkdtemp(join(folder, '..data-'));
    await writeFile(join(written, name), content);
    await symlink(written, `${written}.link`);
    await rename(`${written}.link`, join(folder, '..data'));
  };
  await write(text);
  await symlink(join('..data', name), join(folder, name));
  return { path: join(folder, name), write };
}
