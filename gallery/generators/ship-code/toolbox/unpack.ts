import { spawnSync } from 'node:child_process';
import { createDecipheriv, createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export const dataFolder = join(import.meta.dirname, '..');

/** A seal's package has the seal's digest as its name, so a seal is all that a sandbox needs. */
export const nameOf = (seal: string): string => createHash('sha256').update(seal).digest('hex').slice(0, 16);

/** Unpacks the package of a seal. */
export function unpackInto(folder: string, seal: string): void {
  const sealed = readFileSync(join(dataFolder, 'packages', nameOf(seal)));
  const decipher = createDecipheriv('aes-256-gcm', Buffer.from(seal, 'hex'), Buffer.alloc(12));
  decipher.setAuthTag(sealed.subarray(0, 16));
  const archive = Buffer.concat([decipher.update(sealed.subarray(16)), decipher.final()]);
  const { status, stderr } = spawnSync('tar', ['-x', '--no-same-owner', '-C', folder], { input: archive });
  if (status !== 0) throw new Error(stderr.toString());
}
