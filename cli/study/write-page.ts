import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { Study } from './study.ts';
import { onlyInCheckout } from './tokens.ts';

/** Draws the report and tells where it is. What draws is large, and of no use to other commands. */
export async function writePage(study: Study, file: string): Promise<string> {
  const { studyPage } = await import('./page.ts').catch(onlyInCheckout);
  const path = resolve(file);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, studyPage(study));
  return path;
}

/** With whatever opens pages here; where nothing does, its path was printed. */
export function openPage(path: string): void {
  const opener = process.platform === 'darwin' ? 'open' : 'xdg-open';
  spawn(opener, [path], { detached: true, stdio: 'ignore' })
    .on('error', () => undefined)
    .unref();
}
