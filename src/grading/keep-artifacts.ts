import type { Artifacts } from './artifacts.ts';

/**
 * What a rollout's artifacts are kept as, in the line of the rollout itself: so they rotate with it, and count among its
 * folder's bytes. `names`: as its environment asked for them.
 */
export type KeptArtifacts =
  | { readonly kind: 'taken'; readonly names: readonly string[]; readonly files: readonly KeptFile[] }
  /** There are none, or more than are kept. */
  | { readonly kind: 'none'; readonly reason: string };

type KeptFile = {
  readonly path: string;
  readonly executable: boolean;
  readonly mtime_s: number;
  readonly base64: string;
};

/** What `artifact_bytes` is unless an environment says otherwise. Gateways hold the text until the score is stored. */
const mostBytes = 8 * 1024 * 1024;
/** Those in base64, and a mebibyte for their paths: the policy names them, and up to 4,096 of them. */
export const mostKeptCharacters = Math.ceil((mostBytes * 4) / 3) + 1024 * 1024;

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
