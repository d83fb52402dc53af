import { targetOf } from '../claiming/target.ts';
import { Failure } from '../failure/failure.ts';
import { type KeptArtifacts, mostKeptBytes, mostKeptCharacters } from '../ports/kept-rollouts.ts';
import type { SandboxLink, SandboxTarget } from '../ports/sandbox-link.ts';
import {
  endOfTar,
  readTar,
  TarCutOff,
  TarError,
  tarHeader,
  tarOfAtMost,
  tarPadding,
} from '../protocol/sandboxd/tar.ts';
import type { GradeJob } from './job.ts';
import { type BadFiles, brokenSandbox, policysDoing, untilRead } from './policys-files.ts';
import { brokenProtocol } from './run-command-grader.ts';
import { type TroubleDeps, whileItStands } from './still-there.ts';

/**
 * What a policy left behind, for graders and judges that work elsewhere: regular files alone, taken out of its sandbox as
 * its own user when nothing of it runs any more. Its paths and bytes are the policy's word, and whatever it did to them
 * is its own doing: `bad`, which environments have a score for, and no way to a discard.
 */
export type Artifacts = { readonly kind: 'taken'; readonly files: readonly Artifact[] } | BadFiles;

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
    const signal = AbortSignal.timeout(Math.max(1, Math.min(takingMs, job.deadline.remainingMs)));
    const tar = await deps.link.takeArtifacts(targetOf(job.rollout), request, signal);
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
  for await (const { path, kind, mode, mtimeS, content } of readTar(tar)) {
    if (kind !== 'file' || path.split('/').includes('..')) throw brokenProtocol(`${path} is no artifact`);
    const chunks: Uint8Array[] = [];
    count(Buffer.byteLength(path));
    for await (const chunk of content) {
      count(chunk.length);
      chunks.push(chunk);
    }
    files.push({ path, executable: (mode & 0o111) !== 0, mtimeS, bytes: Buffer.concat(chunks) });
    if (files.length > mostFiles) throw brokenProtocol(`there are more than ${mostFiles} files`);
  }
  return files;
}

/** To where they were, in another sandbox. A part of them may be there when it throws. */
export async function putArtifacts(
  link: Pick<SandboxLink, 'putFile'>,
  target: SandboxTarget,
  files: readonly Artifact[],
  signal: AbortSignal,
): Promise<void> {
  for (const path of ['.', '/'] as const) {
    const there = files.filter((file) => file.path.startsWith('/') === (path === '/'));
    if (there.length === 0) continue;
    await link.putFile(target, { path, user: 'policy', form: 'archive' }, tarOf(there), signal);
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
    : artifacts.files.reduce((sum, { path, bytes }) => sum + Buffer.byteLength(path) + bytes.length, 0);

/** What is kept of them with their rollout, as JSON. The bytes are as the policy left them, so nothing is taken out of them. */
export function artifactsToKeep(names: readonly string[], artifacts: Artifacts): string {
  if (artifacts.kind === 'bad') return noneKept(`there were none to be had: ${artifacts.reason}`);
  const bytes = artifacts.files.reduce((sum, file) => sum + file.bytes.length, 0);
  const tooMany = `they have ${bytes} bytes, and of one rollout ${mostKeptBytes} are kept, with their paths`;
  // Before anything is made of them.
  if (bytes > mostKeptBytes) return noneKept(tooMany);
  const files = artifacts.files.map((file) => ({
    path: file.path,
    executable: file.executable,
    mtime_s: file.mtimeS,
    base64: file.bytes.toString('base64'),
  }));
  const text = JSON.stringify({ kind: 'taken', names, files } satisfies KeptArtifacts);
  return text.length > mostKeptCharacters ? noneKept(tooMany) : text;
}

const noneKept = (reason: string): string =>
  JSON.stringify({ kind: 'none', reason: reason.slice(0, 500) } satisfies KeptArtifacts);

/**
 * Memory for the artifacts of all gradings of a process. Whoever may take so many bytes enters when there is room for them,
 * in the order of coming, and gives back what it did not need: most take kilobytes.
 */
export class ArtifactRoom {
  #freeBytes: number;
  readonly #waiting: { readonly bytes: number; readonly enter: () => void }[] = [];

  constructor(bytes: number) {
    this.#freeBytes = bytes;
  }

  /**
   * Throws what the work throws, and `grader_failed` where there was no room for it in time. `shrink` says how many bytes it
   * holds on to.
   */
  async hold<Result>(
    mostBytes: number,
    patience: AbortSignal,
    work: (shrink: (bytes: number) => void) => Promise<Result>,
  ): Promise<Result> {
    let held = mostBytes;
    if (this.#waiting.length > 0 || this.#freeBytes < held) await this.#enter(held, patience);
    else this.#freeBytes -= held;
    const giveBack = (bytes: number) => {
      held -= bytes;
      this.#freeBytes += bytes;
      this.#letIn();
    };
    try {
      return await work((bytes) => giveBack(Math.max(0, held - bytes)));
    } finally {
      giveBack(held);
    }
  }

  async #enter(bytes: number, patience: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const place = { bytes, enter: resolve };
    this.#waiting.push(place);
    const giveUp = () => {
      const at = this.#waiting.indexOf(place);
      if (at === -1) return;
      this.#waiting.splice(at, 1);
      reject(new Failure('grader_failed', 'this gateway had no memory free for the artifacts in time'));
      // Whoever comes next may need less.
      this.#letIn();
    };
    patience.addEventListener('abort', giveUp, { once: true });
    if (patience.aborted) giveUp();
    await promise.finally(() => patience.removeEventListener('abort', giveUp));
  }

  #letIn(): void {
    for (
      let next = this.#waiting[0];
      next !== undefined && next.bytes <= this.#freeBytes;
      next = this.#waiting[0]
    ) {
      this.#freeBytes -= next.bytes;
      this.#waiting.shift();
      next.enter();
    }
  }
}
