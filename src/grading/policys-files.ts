import { LinkError } from '../ports/sandbox-link.ts';
import { TarCutOff } from '../protocol/sandboxd/tar.ts';
import type { Deadline } from '../waiting/deadline.ts';
import { NotYet, type RetryDeps, retrying } from '../waiting/retries.ts';
import { retryPolicies } from '../waiting/retry-policies.ts';
import { graderFailed, ownShortages, suspiciousFailure } from './run-command-grader.ts';
import { PolicyBrokeIt } from './still-there.ts';

/**
 * Whose doing it is that files of the policy's could not be read, be it for graders elsewhere (`artifacts.ts`) or for a judge
 * (`attachments.ts`). They are read with the policy's rights, in a sandbox that the policy filled: what its files bring about
 * is its own doing, `bad`, for which the environment has a score. What they cannot bring about is `grader_failed`, no score.
 */
export type BadFiles = {
  readonly kind: 'bad';
  /** `broken`: its sandbox can give nothing any more. */
  readonly how: 'artifacts' | 'broken';
  /** For a person. */
  readonly reason: string;
};

export const brokenSandbox = (reason: string): BadFiles => ({
  kind: 'bad',
  how: 'broken',
  reason: `the policy broke its sandbox: ${reason}`,
});

/**
 * Until they are read. A reader that dies is first asked again: what the policy's files leave no room for has no room the next
 * time either, and a machine that was short of memory for a moment has some again.
 */
export async function untilRead<Files extends { readonly kind: string }>(
  deps: RetryDeps,
  until: Deadline,
  read: () => Promise<Files | BadFiles>,
): Promise<Files | BadFiles> {
  const attempt = async () => {
    const files = await read();
    if (isBad(files) && files.how === 'broken') throw new NotYet(new ReaderDied(files));
    return files;
  };
  try {
    return await retrying(deps, retryPolicies.policysFiles, attempt, { until });
  } catch (thrown) {
    if (thrown instanceof PolicyBrokeIt) return brokenSandbox(thrown.message);
    if (thrown instanceof ReaderDied) return thrown.files;
    throw thrown;
  }
}

const isBad = (files: { readonly kind: string }): files is BadFiles => files.kind === 'bad';

class ReaderDied extends Error {
  readonly files: BadFiles;

  constructor(files: BadFiles) {
    super('the reader of the files of the policy died');
    this.files = files;
  }
}

/** What was thrown as the policy's doing. Throws it on where it is none; `what` could not be read, in words. */
export function policysDoing(thrown: unknown, what: string): BadFiles {
  if (thrown instanceof TarCutOff) return { kind: 'bad', how: 'broken', reason: noRoomToSend };
  if (!(thrown instanceof LinkError) || thrown.trouble.kind !== 'refused') throw thrown;
  return ofRefusal(thrown.trouble, what);
}

const noRoomToSend = 'the policy filled its sandbox, so that its files could not be sent';

type Refusal = Extract<LinkError['trouble'], { readonly kind: 'refused' }>;

/** A reader that the sandbox's own shortage ended or kept from starting is the policy's doing. One that was only slow is not. */
function ofRefusal({ code, message, errno = '' }: Refusal, what: string): BadFiles {
  if ((code === 'file_error' || code === 'internal') && ownShortages.has(errno))
    return { kind: 'bad', how: 'broken', reason: message };
  if (code === 'file_error' && ofFiles.has(errno)) return { kind: 'bad', how: 'artifacts', reason: message };
  if (code === 'not_found')
    throw graderFailed(`its sandboxd is of a version that cannot give ${what}`, 'ENOSYS');
  throw suspiciousFailure(`${what} could not be taken: ${message}`, errno);
}

/**
 * Errors that the policy's files can cause. No policy can cause any other: the disk fails, does not respond (ETIMEDOUT) or has lost its
 * structure, the reader ended although the sandbox was not full (LOST), or processes could not be killed because they wait for the
 * disk (EBUSY). If ids cannot be switched, the policy can answer in the reader's place, so such a discard is marked.
 */
const ofFiles: ReadonlySet<string> = new Set([
  'EACCES',
  'EAGAIN',
  'EFBIG',
  'EINVAL',
  'EISDIR',
  'ELOOP',
  'ENAMETOOLONG',
  'ENODEV',
  'ENOENT',
  'ENOTDIR',
  'ENXIO',
  'EOVERFLOW',
  'EPERM',
]);
