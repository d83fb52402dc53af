import { createHash } from 'node:crypto';
import { targetOf } from '#src/claiming/target.ts';
import type { WantedChanges } from '#src/model/grader.ts';
import type { RolloutRecord } from '#src/ports/fleet/records.ts';
import { LinkError, type SandboxLink } from '#src/ports/sandbox-link.ts';
import { readTar, TarCutOff, TarError, tarOfAtMost, wholeContent } from '#src/protocol/sandboxd/tar.ts';
import type { Deadline } from '#src/waiting/deadline.ts';
import { timeLimit } from '#src/waiting/time-limit.ts';
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
import { brokenProtocol, graderFailed, suspiciousFailure } from '../run-command-grader.ts';
import { type TroubleDeps, whileItStands } from '../still-there.ts';
import { type Changes, mostPathBytes, type Written } from './changes.ts';
import { compare, type Comparison, type Planned, PolicysSide, TooManyChanges } from './compare.ts';
import { BadListing, type Listed, readListing } from './read-listing.ts';

/*
 * Takes what a policy changed, for a grader that works where the policy never was:
 *
 *   claim a sandbox for graders ──▶ kill all in the policy's ──▶ list both, compare ──▶ let it go ──▶ take the content of what differs
 *
 * Each grader claims another one afterwards: a grading that kept this one would hold it while it waits for memory, and others hold memory
 * while they wait for a sandbox. All that the policy's files bring about is `bad`, a score of the environment.
 */

export type ChangesDeps = ElsewhereDeps &
  TroubleDeps & { readonly link: Pick<SandboxLink, 'list' | 'contents'> };

export type WantedInAll = WantedChanges & { readonly mostBytes: number };

/** Of a listing in either sandbox: a larger repository has its packages in the folder, which an environment can except. */
export const listingBounds = { mostEntries: 100_000, mostBytes: 2 * 1024 * 1024 * 1024 } as const;
/** Longer than the 4 min for which each sandboxd lists at most, one waiting for the other; less than its limit of a transfer. */
const listingMs = 9 * 60_000;

/**
 * Compares the policy's sandbox with another one of the image. Throws what bars the rollout when its sandbox is lost, `grader_failed`, and
 * why no sandbox for a grader was to be had in time.
 */
export async function compareChanges(
  deps: ChangesDeps,
  job: GradeJob,
  wanted: WantedInAll,
  until: Deadline,
): Promise<Comparison | BadFiles> {
  if (job.rollout.broken !== null) return brokenSandbox(job.rollout.broken);
  try {
    // Nothing of the policy is there.
    const limits = { until, tries: noneFailed(), evidence: {} };
    return await inGraderSandbox(deps, job, limits, (claim) =>
      untilRead(deps, job.deadline, () => compareOnce(deps, job, wanted, claim)),
    );
  } finally {
    await letGo(deps, job);
  }
}

async function compareOnce(
  deps: ChangesDeps,
  job: GradeJob,
  wanted: WantedInAll,
  claim: RolloutRecord,
): Promise<Comparison | BadFiles> {
  const attempt = () =>
    whileItIsOurs(deps, claim, (gone) => compareBoth(deps, job, wanted, claim, gone))
      .catch(beforeItRan)
      .catch(imagesFault)
      .catch(ofPolicys);
  try {
    return await whileItStands(deps, job, attempt);
  } catch (thrown) {
    return policysFault(thrown);
  }
}

async function compareBoth(
  { link }: ChangesDeps,
  { rollout, turn, deadline, environment }: GradeJob,
  { below, except, ...bounds }: WantedInAll,
  claim: RolloutRecord,
  gone: AbortSignal,
): Promise<Comparison> {
  const asRoot = environment.template.runAs === 'root';
  const request = { below, except, asRoot, ...listingBounds };
  const wait = listingWait(deadline, gone);
  const chunks = await link.list(targetOf(claim), { ...request, turn: null, homes: null }, ...wait);
  const image = await readListing(chunks);
  const listPolicys = () =>
    link.list(targetOf(rollout), { ...request, turn, homes: image.homes }, ...listingWait(deadline));
  return compare(image.entries, entriesOf(listPolicys), { ...bounds, mostPathBytes });
}

async function* entriesOf(list: () => Promise<AsyncIterable<Uint8Array>>): AsyncGenerator<Listed> {
  const { entries } = await readListing(await list());
  yield* entries;
}

function ofPolicys(thrown: unknown): never {
  throw thrown instanceof PolicysSide ? thrown.thrown : thrown;
}

/** No policy was there: what its files are is the image's doing, and what fails otherwise is the machine's. */
function imagesFault(thrown: unknown): never {
  if (!(thrown instanceof LinkError || thrown instanceof BadListing)) throw thrown;
  if (thrown instanceof BadListing || thrown.trouble.kind !== 'refused') throw brokenProtocol(thrown.message);
  const { code, errno = '', message } = thrown.trouble;
  if (code === 'not_found') throw new AnotherOne('its sandboxd is of a version that cannot list it');
  if (code === 'invalid_request' || ofImage.has(errno))
    throw graderFailed(
      `the folders of changes cannot be compared: ${message}; name other folders below, or more in except`,
      errno,
    );
  throw new AnotherOne(message);
}

/** Errors that the image's files cause, in every sandbox of it. ETIME: there are too many of them. */
const ofImage: ReadonlySet<string> = new Set(['EFBIG', 'ENOENT', 'ENOTDIR', 'EACCES', 'ELOOP', 'ETIME']);

/** Commands with root's rights can speak for the sandboxd of their sandbox, so all that it may not say is marked as what they may have caused. */
function policysFault(thrown: unknown): BadFiles {
  if (thrown instanceof TooManyChanges) return { kind: 'bad', how: 'artifacts', reason: thrown.message };
  const isNonsense =
    thrown instanceof BadListing || (thrown instanceof TarError && !(thrown instanceof TarCutOff));
  if (isNonsense)
    throw suspiciousFailure(`its sandboxd sent what it never sends: ${thrown.message}`, 'EBADMSG');
  if (thrown instanceof LinkError && thrown.trouble.kind === 'refused' && thrown.trouble.code === 'not_found')
    throw suspiciousFailure('its sandboxd cannot list what the policy changed', 'ENOSYS');
  return policysDoing(thrown, 'what the policy changed');
}

const listingWait = ({ remainingMs }: Deadline, ...others: readonly AbortSignal[]) =>
  timeLimit(Math.min(listingMs, remainingMs), ...others);

/** Takes the content of what differs; again is fine. Throws as {@link compareChanges} does. */
export async function takeChanges(
  deps: ChangesDeps,
  job: GradeJob,
  comparison: Comparison,
): Promise<Artifacts> {
  return untilRead(deps, job.deadline, async () => {
    try {
      const contents = await whileItStands(deps, job, () => contentsOf(deps, job, comparison));
      if (contents === null) return changedMeanwhile;
      return { kind: 'taken' as const, files: [], changes: changesOf(comparison, contents) };
    } catch (thrown) {
      return policysFault(thrown);
    }
  });
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
  const tar = await deps.link.contents(targetOf(rollout), request, ...listingWait(deadline));
  const mostBytes = files.reduce(
    (sum, { path, bytes }) => sum + bytes + Buffer.byteLength(path) + 4_096,
    10_240,
  );
  let at = 0;
  for await (const entry of readTar(tarOfAtMost(tar, mostBytes))) {
    const file = files[at];
    at += 1;
    if (file === undefined || entry.path !== file.path || entry.bytes !== file.bytes)
      throw new TarError(`${entry.path} was not asked for`);
    const bytes = await wholeContent(entry);
    if (createHash('sha256').update(bytes).digest('hex') !== file.sha256) return null;
    contents.set(entry.path, { bytes, mtimeS: entry.mtimeS });
  }
  if (at < files.length) throw new TarError('not all contents were sent');
  return contents;
}

function changesOf(
  { removed, planned, leftOut }: Comparison,
  contents: ReadonlyMap<string, Content>,
): Changes {
  return { removed, leftOut, written: planned.map((each) => writtenOf(each, contents)) };
}

const empty: Content = { bytes: Buffer.alloc(0), mtimeS: 0 };

function writtenOf(planned: Planned, contents: ReadonlyMap<string, Content>): Written {
  const { kind, path } = planned;
  if (kind === 'link') return { ...empty, kind, path, mode: 0o777, target: planned.target };
  return { ...(contents.get(path) ?? empty), kind, path, mode: planned.mode };
}
