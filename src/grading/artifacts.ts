import { targetOf } from '../claiming/target.ts';
import {
  type KeptArtifacts,
  type KeptChanges,
  mostKeptBytes,
  mostKeptCharacters,
} from '../ports/kept-rollouts.ts';
import type { SandboxLink, SandboxTarget } from '../ports/sandbox-link.ts';
import {
  endOfTar,
  readTar,
  TarCutOff,
  TarError,
  tarHeader,
  tarOfAtMost,
  tarPadding,
  wholeContent,
} from '../protocol/sandboxd/tar.ts';
import { type TimeLimit, timeLimit } from '../waiting/time-limit.ts';
import { changedBytes, type Changes } from './changes/changes.ts';
import type { GradeJob } from './job.ts';
import { type BadFiles, brokenSandbox, policysDoing, untilRead } from './policys-files.ts';
import { brokenProtocol } from './run-command-grader.ts';
import { type TroubleDeps, whileItStands } from './still-there.ts';

/**
 * What a policy left behind, for graders and judges that work elsewhere: regular files alone, taken out of its sandbox as
 * its own user when nothing of it runs any more. Its paths and bytes are the policy's word, and whatever it did to them
 * is its own doing: `bad`, which environments have a score for, and no way to a discard.
 */
export type Artifacts =
  | { readonly kind: 'taken'; readonly files: readonly Artifact[]; readonly changes?: Changes }
  | BadFiles;

/** `path`: below the workspace, or absolute below another folder of the environment's; never with `..`. */
export type Artifact = {
  readonly path: string;
  readonly executable: boolean;
  readonly mtimeS: number;
  readonly bytes: Buffer;
};

export type ArtifactsDeps = TroubleDeps & { readonly link: Pick<SandboxLink, 'takeArtifacts'> };

export type WantedArtifacts = { readonly paths: readonly string[]; readonly mostBytes: number };

/** Of one rollout: more is a repository with its packages, which belong into an image. */
const mostFiles = 4_096;
/** All bytes over a slow line; longer than the 5 min for which sandboxd waits for its reader. */
const takingMs = 6 * 60_000;

/**
 * Takes them; again is fine. Throws what bars the rollout when its sandbox is lost, `sandboxd_unreachable` at the turn's end,
 * and `grader_failed` where its sandboxd cannot.
 */
export async function takeArtifacts(
  deps: ArtifactsDeps,
  job: Pick<GradeJob, 'rollout' | 'turn' | 'deadline'>,
  wanted: WantedArtifacts,
): Promise<Artifacts> {
  if (job.rollout.broken !== null) return brokenSandbox(job.rollout.broken);
  return untilRead(deps, job.deadline, () => takeOnce(deps, job, wanted));
}

async function takeOnce(
  deps: ArtifactsDeps,
  job: Pick<GradeJob, 'rollout' | 'turn' | 'deadline'>,
  wanted: WantedArtifacts,
): Promise<Artifacts> {
  const request = { turn: job.turn, ...wanted, mostFiles };
  const take = async () => {
    const wait = timeLimit(Math.min(takingMs, job.deadline.remainingMs));
    const tar = await deps.link.takeArtifacts(targetOf(job.rollout), request, ...wait);
    return filesIn(tarOfAtMost(tar, archiveBytes(wanted.mostBytes)), wanted.mostBytes);
  };
  try {
    return { kind: 'taken', files: await whileItStands(deps, job, take) };
  } catch (thrown) {
    // All processes of the policy's have ended, so none of them can have answered in the reader's place.
    if (thrown instanceof TarError && !(thrown instanceof TarCutOff)) throw brokenProtocol(thrown.message);
    return policysDoing(thrown, 'artifacts');
  }
}

/**
 * The longest archive of so many bytes, which include paths: of each file a header and its filling, the record of a long path with
 * its own, and a tape's last record.
 */
const archiveBytes = (mostBytes: number): number => mostBytes + mostFiles * 4 * 1_024 + 10_240;

/** The gateway checks again what a sandbox sends. */
async function filesIn(tar: AsyncIterable<Uint8Array>, mostBytes: number): Promise<readonly Artifact[]> {
  const files: Artifact[] = [];
  let bytes = 0;
  const count = (more: number) => {
    bytes += more;
    if (bytes > mostBytes) throw brokenProtocol(`there are more than ${mostBytes} bytes`);
  };
  for await (const entry of readTar(tar)) {
    const { path, kind, mode, mtimeS } = entry;
    if (kind !== 'file' || path.split('/').includes('..')) throw brokenProtocol(`${path} is no artifact`);
    count(Buffer.byteLength(path) + entry.bytes);
    files.push({ path, executable: (mode & 0o111) !== 0, mtimeS, bytes: await wholeContent(entry) });
    if (files.length > mostFiles) throw brokenProtocol(`there are more than ${mostFiles} files`);
  }
  return files;
}

/** To where they were, in another sandbox. A part of them may be there when it throws. */
export async function putArtifacts(
  link: Pick<SandboxLink, 'putFile'>,
  target: SandboxTarget,
  files: readonly Artifact[],
  limit: () => TimeLimit,
): Promise<void> {
  for (const path of ['.', '/'] as const) {
    const there = files.filter((file) => file.path.startsWith('/') === (path === '/'));
    if (there.length === 0) continue;
    await link.putFile(target, { path, user: 'policy', form: 'archive' }, tarOf(there), ...limit());
  }
}

export async function* tarOf(files: readonly Artifact[]): AsyncGenerator<Uint8Array> {
  for (const { path, executable, mtimeS, bytes } of files) {
    const mode = executable ? 0o755 : 0o644;
    yield tarHeader({ path, kind: 'file', mode, mtimeS, bytes: bytes.length });
    yield bytes;
    yield tarPadding(bytes.length);
  }
  yield endOfTar;
}

export const bytesOf = (artifacts: Artifacts): number =>
  artifacts.kind === 'bad'
    ? 0
    : artifacts.files.reduce(
        (sum, { path, bytes }) => sum + Buffer.byteLength(path) + bytes.length,
        artifacts.changes === undefined ? 0 : changedBytes(artifacts.changes),
      );

/** What is kept of them with their rollout, as JSON. The bytes are as the policy left them, so nothing is taken out of them. */
export function artifactsToKeep(names: readonly string[], artifacts: Artifacts): string {
  if (artifacts.kind === 'bad') return noneKept(`there were none to be had: ${artifacts.reason}`);
  const { changes } = artifacts;
  const bytes = [...artifacts.files, ...(changes?.written ?? [])].reduce(
    (sum, file) => sum + file.bytes.length,
    0,
  );
  const tooMany = `they have ${bytes} bytes, and of one rollout ${mostKeptBytes} are kept, with their paths`;
  // Before anything is made of them.
  if (bytes > mostKeptBytes) return noneKept(tooMany);
  const files = artifacts.files.map((file) => ({
    path: file.path,
    executable: file.executable,
    mtime_s: file.mtimeS,
    base64: file.bytes.toString('base64'),
  }));
  const kept = { kind: 'taken', names, files, ...(changes && { changes: changesToKeep(changes) }) } as const;
  const text = JSON.stringify(kept satisfies KeptArtifacts);
  return text.length > mostKeptCharacters ? noneKept(tooMany) : text;
}

const changesToKeep = ({ removed, written }: Changes): KeptChanges => ({
  removed,
  written: written.map(({ path, kind, mode, mtimeS, bytes, target }) => ({
    path,
    kind,
    mode,
    mtime_s: mtimeS,
    ...(kind === 'file' && { base64: bytes.toString('base64') }),
    ...(target !== undefined && { target }),
  })),
});

const noneKept = (reason: string): string =>
  JSON.stringify({ kind: 'none', reason: reason.slice(0, 500) } satisfies KeptArtifacts);
