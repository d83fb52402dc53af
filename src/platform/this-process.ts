import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';

/** Of Corral, as package.json has it, which every image has beside the source. */
export const version = versionIn(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8'));

function versionIn(text: string): string {
  return (JSON.parse(text) as { readonly version: string }).version;
}

/** As operators know this process: in a cluster the host is its pod. */
export const thisProcess = { host: hostname(), pid: process.pid, version } as const;
