import { createHash } from 'node:crypto';
import { targetOf } from '#src/claiming/target.ts';
import { Failure } from '#src/failure/failure.ts';
import type { WantedChanges } from '#src/model/grader.ts';
import type { RolloutRecord } from '#src/ports/fleet/records.ts';
import { LinkError, type SandboxLink } from '#src/ports/sandbox-link.ts';
import { readTar, TarCutOff, TarError, tarOfAtMost, wholeContent } from '#src/protocol/sandboxd/tar.ts';
import type { ListingRequest } from '#src/protocol/sandboxd/wire.ts';
import type { Deadline } from '#src/waiting/deadline.ts';
import { noneFailed } from '#src/waiting/retries.ts';
import type { Artifacts } from '../artifacts.ts';
import {
  AnotherOne,
  beforeItRan,
  type ElsewhereDeps,
  inGraderSandbox,
  letGo,
  whileItIsOurs,
} from '../in-grader-sandbox.ts';
import type { GradeJob } from '../job.ts';
import { type BadFiles, brokenSandbox, policysDoing, untilRead } from '../policys-files.ts';
import { brokenProtocol, graderFailed } from '../run-command-grader.ts';
import { type TroubleDeps, whileItStands } from '../still-there.ts';
import { type Changes, mostPathBytes, type Written } from './changes.ts';
import { compare, type Comparison, type Planned, TooManyChanges } from './compare.ts';
import { readListing } from './read-listing.ts';

/*
 * Takes what a policy changed, for a grader that works where the policy never was:
 *
 *   claim the grader's sandbox ──▶ list it ──▶ kill all in the policy's, list it, compare ──▶ take the content of what differs
 *
 * The grader gets the same sandbox afterwards, unless it is lost. All that the policy's files bring about is `bad`, a score of the environment.
 */

export type ChangesDeps = ElsewhereDeps &
  TroubleDeps & { readonly link: Pick<SandboxLink, 'list' | 'contents'> };

type Wanted = WantedChanges & { readonly mostBytes: number };

/** Of a listing in either sandbox: a larger repository has its packages in the folder, which an environment can except. */
export const listingBounds = { mostEntries: 100_000, mostBytes: 2 * 1024 * 1024 * 1024 } as const;
/** The listing of the image, which is held while it is compared. */
export const mostListingBytes = 24 * 1024 * 1024;
/** Longer than the 4 min for which sandboxd lists at most. */
const listingMs = 6 * 60_000;

/** Throws what bars the rollout when its sandbox is lost, `grader_failed`, and why no sandbox for a grader was to be had in time. */
export async function takeChanges(
  deps: ChangesDeps,
  job: GradeJob,
  wanted: Wanted,
  until: Deadline,
): Promise<Artifacts> {
  if (job.rollout.broken !== null) return brokenSandbox(job.rollout.broken);
  let taken: Artifacts | null = null;
  try {
    const image = await inGraderSandbox(deps, job, { until, tries: noneFailed() }, (claim) =>
      listImage(deps, job, claim, wanted),
    );
    taken = await untilRead(deps, job.deadline, () => takeOnce(deps, job, wanted, image));
    return taken;
  } finally {
    if (taken?.kind !== 'taken') await letGo(deps, job);
  }
}

const requestOf = ({ below, except }: Wanted, turn: number | null): ListingRequest => ({
  below,
  except,
  turn,
  ...listingBounds,
});

/** The listing of a sandbox where no policy was, as it came. */
async function listImage(
  deps: ChangesDeps,
  job: GradeJob,
  claim: RolloutRecord,
  wanted: Wanted,
): Promise<readonly Uint8Array[]> {
  const target = targetOf(claim);
  const list = async (gone: AbortSignal) => {
    const signal = AbortSignal.any([gone, patience(job.deadline)]);
    const chunks = await wholeListing(await deps.link.list(target, requestOf(wanted, null), signal));
    // Read once, so that what keeps the image from being listed is found before the policy's sandbox is asked.
    for await (const _entry of readListing(chunks)) continue;
    return chunks;
  };
  return whileItIsOurs(deps, claim, list).catch(beforeItRan).catch(imagesFault);
}

async function wholeListing(bytes: AsyncIterable<Uint8Array>): Promise<readonly Uint8Array[]> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of bytes) {
    size += chunk.length;
    if (size > mostListingBytes) throw tooLargeImage('its names and digests are too long');
    chunks.push(chunk);
  }
  return chunks;
}

const tooLargeImage = (why: string): Failure =>
  new Failure(
    'grader_failed',
    `the folders of changes cannot be compared: ${why}; name fewer of them below, or more in except`,
    { evidence: { errno: 'EFBIG' } },
  );

/** No policy was there: what its files are is the image's doing, and what fails otherwise is the machine's. */
function imagesFault(thrown: unknown): never {
  if (!(thrown instanceof LinkError) || thrown.trouble.kind !== 'refused') throw thrown;
  const { code, errno = '', message } = thrown.trouble;
  if (code === 'not_found') throw olderSandboxd();
  if (code === 'invalid_request' || errno === 'EFBIG') throw tooLargeImage(message);
  if (errno === 'ENOENT' || errno === 'ENOTDIR')
    throw graderFailed(
      `the folders of changes are not in the image of the grader's sandbox: ${message}`,
      errno,
    );
  throw new AnotherOne(message);
}

const olderSandboxd = () =>
  graderFailed('its sandboxd is of a version that cannot compare what a policy changed', 'ENOSYS');

const patience = ({ remainingMs }: Deadline): AbortSignal =>
  AbortSignal.timeout(Math.max(1, Math.min(listingMs, remainingMs)));

async function takeOnce(
  deps: ChangesDeps,
  job: GradeJob,
  wanted: Wanted,
  image: readonly Uint8Array[],
): Promise<Artifacts> {
  const target = targetOf(job.rollout);
  try {
    const comparison = await whileItStands(deps, job, async () => {
      const listing = await deps.link.list(target, requestOf(wanted, job.turn), patience(job.deadline));
      return compare(readListing(image), readListing(listing), { ...wanted, mostPathBytes });
    });
    const contents = await whileItStands(deps, job, () => contentsOf(deps, job, comparison));
    return contents === null
      ? changedMeanwhile
      : { kind: 'taken', files: [], changes: changesOf(comparison, contents) };
  } catch (thrown) {
    if (thrown instanceof TooManyChanges) return { kind: 'bad', how: 'artifacts', reason: thrown.message };
    if (thrown instanceof TarError && !(thrown instanceof TarCutOff)) throw brokenProtocol(thrown.message);
    if (
      thrown instanceof LinkError &&
      thrown.trouble.kind === 'refused' &&
      thrown.trouble.code === 'not_found'
    )
      throw olderSandboxd();
    return policysDoing(thrown, 'what the policy changed');
  }
}

/** Nothing of the policy runs any more, unless it could not be kept from it: then it is its doing. */
const changedMeanwhile: BadFiles = {
  kind: 'bad',
  how: 'artifacts',
  reason: 'files changed while they were taken',
};

const filesOf = ({ planned }: Comparison) => planned.filter((each) => each.kind === 'file');

type Content = Pick<Written, 'bytes' | 'mtimeS'>;

/** The content of each file by its path, or null if a file is not what it was listed as. */
async function contentsOf(
  deps: ChangesDeps,
  { rollout, turn, deadline }: GradeJob,
  comparison: Comparison,
): Promise<ReadonlyMap<string, Content> | null> {
  const files = filesOf(comparison);
  const contents = new Map<string, Content>();
  if (files.length === 0) return contents;
  const request = { turn, files: files.map(({ path, bytes }) => ({ path, bytes })) };
  const tar = await deps.link.contents(targetOf(rollout), request, patience(deadline));
  const mostBytes = files.reduce(
    (sum, { path, bytes }) => sum + bytes + Buffer.byteLength(path) + 4_096,
    10_240,
  );
  let at = 0;
  for await (const entry of readTar(tarOfAtMost(tar, mostBytes))) {
    const file = files[at];
    at += 1;
    if (file === undefined || entry.path !== file.path || entry.bytes !== file.bytes)
      throw brokenProtocol(`${entry.path} was not asked for`);
    const bytes = await wholeContent(entry);
    if (createHash('sha256').update(bytes).digest('hex') !== file.sha256) return null;
    contents.set(entry.path, { bytes, mtimeS: entry.mtimeS });
  }
  if (at < files.length) throw brokenProtocol('not all contents were sent');
  return contents;
}

function changesOf(
  { below, removed, planned, leftOut }: Comparison,
  contents: ReadonlyMap<string, Content>,
): Changes {
  return { below, removed, leftOut, written: planned.map((each) => writtenOf(each, contents)) };
}

const empty: Content = { bytes: Buffer.alloc(0), mtimeS: 0 };

function writtenOf(planned: Planned, contents: ReadonlyMap<string, Content>): Written {
  const { kind, path } = planned;
  if (kind === 'link') return { ...empty, kind, path, mode: 0o777, target: planned.target };
  return { ...(contents.get(path) ?? empty), kind, path, mode: planned.mode };
}
