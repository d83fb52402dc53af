import { posix } from 'node:path';
import { targetOf } from '../claiming/target.ts';
import type { Attach } from '../model/grader.ts';
import type { JudgeBody } from '../ports/judge.ts';
import { LinkError, type SandboxLink } from '../ports/sandbox-link.ts';
import { matches } from '../protocol/sandboxd/path-pattern.ts';
import { readTar, TarCutOff, TarError, tarOfAtMost, wholeContent } from '../protocol/sandboxd/tar.ts';
import { timeLimit } from '../waiting/time-limit.ts';
import type { GradeJob } from './job.ts';
import { type BadFiles, brokenSandbox, policysDoing, untilRead } from './policys-files.ts';
import { type TroubleDeps, whileItStands } from './still-there.ts';

/**
 * Files of the sandbox that a judge is sent, pictures too: read as the policy's user, so that they are what it could read, and
 * bounded. Paths and bytes are the policy's word. That one is not there is told to the judge; what the policy made too large,
 * too many or unreadable is its own doing, for which the environment has a score: `bad`, and never a discard.
 *
 * Not taken as artifacts are (`artifacts.ts`), although they look alike. Taking those kills all that is the policy's and ends
 * its calls, so it stands before every grader; a judge is asked in the middle, also after one that worked in the sandbox.
 * There a path that is missing is the whole's fault, and here it is only told. And any sandboxd has the archive that is read here.
 * Whose doing it is when they cannot be read is one rule for both, `policys-files.ts`.
 */
export type Attached = Taken | BadFiles;

type Taken = {
  readonly kind: 'taken';
  readonly files: readonly AttachedFile[];
  /** Patterns for which there was nothing. */
  readonly missing: readonly string[];
};

export type AttachDeps = TroubleDeps & { readonly link: Pick<SandboxLink, 'getFile'> };

/** A judge that is a model looks at a handful of pictures. */
const mostFiles = 32;
/** The limit for one pattern. sandboxd waits 5 min for its reader (`reading/reader.ts`), and less if the turn has less time left. */
const takingMs = 6 * 60_000;

type AttachJob = Pick<GradeJob, 'rollout' | 'deadline'>;

export type AttachedFile = { readonly path: string; readonly bytes: Buffer };

/** Throws what bars the rollout when its sandbox is lost, and `grader_failed` where its sandboxd cannot. */
export async function attachFiles(deps: AttachDeps, job: AttachJob, attach: Attach): Promise<Attached> {
  if (job.rollout.broken !== null) return brokenSandbox(job.rollout.broken);
  return untilRead(deps, job.deadline, () => attachOnce(deps, job, attach));
}

async function attachOnce(deps: AttachDeps, job: AttachJob, attach: Attach): Promise<Attached> {
  try {
    const found: AttachedFile[] = [];
    const missing: string[] = [];
    for (const pattern of attach.paths) {
      const left = attach.mostBytes - found.reduce((sum, { bytes }) => sum + bytes.length, 0);
      const here = await whileItStands(deps, job, () => filesOf(deps, job, pattern, left));
      if (here.length === 0) missing.push(pattern);
      found.push(...here.filter(({ path }) => found.every((one) => one.path !== path)));
      if (found.length > mostFiles) throw tooManyFiles();
    }
    return { kind: 'taken', files: found, missing };
  } catch (thrown) {
    // If ids cannot be switched, the policy can answer in the reader's place, so a broken archive is its doing.
    if (thrown instanceof TooMuch || (thrown instanceof TarError && !(thrown instanceof TarCutOff)))
      return { kind: 'bad', how: 'artifacts', reason: thrown.message };
    return policysDoing(thrown, 'files for the judge');
  }
}

class TooMuch extends Error {}

const tooManyFiles = () => new TooMuch(`more than ${mostFiles} files`);

/** Those of one pattern, by name. A folder is read as it is, without those below it. */
async function filesOf(
  deps: AttachDeps,
  job: AttachJob,
  pattern: string,
  mostBytes: number,
): Promise<readonly AttachedFile[]> {
  const folder = posix.dirname(pattern);
  const name = posix.basename(pattern);
  const isOne = !name.includes('*');
  const from = { path: isOne ? pattern : folder, user: 'policy', form: 'archive' } as const;
  // Each file has a header and is filled up to a block. sandboxd counts, too, but the gateway does not rely on it.
  const most = mostBytes + (mostFiles + 2) * 2_048;
  const found: AttachedFile[] = [];
  try {
    const wait = timeLimit(Math.min(takingMs, job.deadline.remainingMs));
    const tar = await deps.link.getFile(targetOf(job.rollout), { ...from, mostBytes: most }, ...wait);
    let leftBytes = mostBytes;
    for await (const entry of readTar(tarOfAtMost(tar, most))) {
      // Of a folder in the place of a file there are those in it.
      const isMeant = isOne ? entry.path === name : !entry.path.includes('/') && matches(name, entry.path);
      if (entry.kind !== 'file' || !isMeant) continue;
      if (entry.bytes > leftBytes) throw new TooMuch('more bytes than are attached');
      leftBytes -= entry.bytes;
      const path = isOne ? pattern : posix.join(folder, entry.path);
      found.push({ path, bytes: await wholeContent(entry) });
      if (found.length > mostFiles) throw tooManyFiles();
    }
  } catch (thrown) {
    if (isMissing(thrown)) return [];
    throw thrown;
  }
  return found.toSorted((one, other) => (one.path < other.path ? -1 : 1));
}

const isMissing = (thrown: unknown): boolean =>
  thrown instanceof LinkError &&
  thrown.trouble.kind === 'refused' &&
  thrown.trouble.code === 'file_error' &&
  (thrown.trouble.errno === 'ENOENT' || thrown.trouble.errno === 'ENOTDIR');

/** Members of a judge's request. Each file becomes base64 while it is sent, so that it is in memory once. */
export function writtenFiles({ files, missing }: Pick<Taken, 'files' | 'missing'>): JudgeBody {
  const pieces = files.flatMap(({ path, bytes }, index) => {
    const named = JSON.stringify({ path: path.toWellFormed(), bytes: bytes.length }).slice(0, -1);
    return [`${index === 0 ? '' : ','}${named},"base64":"`, bytes, '"}'];
  });
  return ['"files":[', ...pieces, `],"files_missing":${JSON.stringify(missing)}`];
}

/** How much memory they hold. */
export const attachedBytes = (attached: Attached): number =>
  attached.kind === 'bad' ? 0 : attached.files.reduce((sum, { bytes }) => sum + bytes.length, 0);

/** In a request with the judge's harmless answer there are none: they may be what it refuses. */
export const nothingAttached: JudgeBody = writtenFiles({ files: [], missing: [] });
