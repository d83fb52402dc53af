import {
  type KeptArtifacts,
  mostKeptBytes as mostBytes,
  mostKeptCharacters,
} from '../ports/kept-rollouts.ts';
import type { Artifacts } from './artifacts.ts';

/** As JSON. The bytes are as the policy left them, so nothing is taken out of them. */
export function artifactsToKeep(names: readonly string[], artifacts: Artifacts): string {
  if (artifacts.kind === 'bad') return none(`there were none to be had: ${artifacts.reason}`);
  const bytes = artifacts.files.reduce((sum, file) => sum + file.bytes.length, 0);
  const tooMany = `they have ${bytes} bytes, and of one rollout ${mostBytes} are kept, with their paths`;
  // Before anything is made of them.
  if (bytes > mostBytes) return none(tooMany);
  const files = artifacts.files.map((file) => ({
    path: file.path,
    executable: file.executable,
    mtime_s: file.mtimeS,
    base64: file.bytes.toString('base64'),
  }));
  const text = JSON.stringify({ kind: 'taken', names, files } satisfies KeptArtifacts);
  return text.length > mostKeptCharacters ? none(tooMany) : text;
}

const none = (reason: string): string =>
  JSON.stringify({ kind: 'none', reason: reason.slice(0, 500) } satisfies KeptArtifacts);
