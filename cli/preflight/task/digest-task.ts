import { createHash } from 'node:crypto';
import { existsSync, lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';

/** Everything that decides a reward. The instruction is for the model only. */
const parts = ['environment', 'solution', 'steps', 'task.toml', 'tests'];
const leftOut: ReadonlySet<string> = new Set(['.DS_Store', '.git', '__pycache__']);

/**
 * The sha256 of all that defines a task: names, modes and bytes, in order. The Python client computes the same
 * (`digest_task` in corral/harbor/task_files.py), so that what preflight finds of a task holds for its trials.
 */
export function digestTask(folder: string): string {
  const digest = createHash('sha256');
  const files = parts.flatMap((part) => filesBelow(folder, [part])).toSorted(byParts);
  for (const names of files) addFile(digest, join(folder, ...names), names.join('/'));
  return digest.digest('hex');
}

type Names = readonly string[];

function filesBelow(folder: string, names: Names): readonly Names[] {
  const path = join(folder, ...names);
  if (leftOut.has(names.at(-1) ?? '') || !existsEvenBroken(path)) return [];
  if (!lstatSync(path).isDirectory()) return [names];
  return readdirSync(path).flatMap((name) => filesBelow(folder, [...names, name]));
}

const existsEvenBroken = (path: string): boolean =>
  existsSync(path) || lstatSync(path, { throwIfNoEntry: false }) !== undefined;

/** Name by name, as Python compares paths. */
function byParts(one: Names, other: Names): number {
  for (const [index, name] of one.entries()) {
    const against = other[index];
    if (against === undefined) return 1;
    if (name !== against) return Buffer.compare(Buffer.from(name), Buffer.from(against));
  }
  return -1;
}

const permissions = 0o777;

function addFile(digest: ReturnType<typeof createHash>, path: string, name: string): void {
  const status = lstatSync(path);
  const isLink = status.isSymbolicLink();
  const content = isLink ? Buffer.from(readlinkSync(path)) : readFileSync(path);
  const head = [asciiJson(name), isLink, status.mode & permissions, content.length].join(', ');
  digest.update(`[${head}]\n`).update(content);
}

/** As Python writes JSON: every character beyond ASCII escaped. */
const asciiJson = (text: string): string =>
  JSON.stringify(text).replaceAll(
    /[\u0080-\uffff]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
