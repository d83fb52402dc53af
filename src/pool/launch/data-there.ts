import { failsEverywhere } from '#src/failure/codes.ts';
import { Failure } from '#src/failure/failure.ts';
import type { ImageFolder, Template } from '#src/model/environment.ts';
import { LinkError, type SandboxLink, type SandboxTarget } from '#src/ports/sandbox-link.ts';

/**
 * Looks, as the policy's user, whether each folder of data is what an environment counts on. On one machine the mount
 * itself proves it; a pod's data is what an image holds, and an image without it starts as well as one with. A tool would then say
 * `No such file`, and the policy would be paid for what it could not read.
 *
 * Of what is inside only the first level is looked at: the rest came by the same build.
 * Some shells say that root may write anywhere, so that is not asked of it: what root is given is mounted (`compile/data.ts`).
 */
const looksAtData = `user=$0
amiss() { echo "data: $1" >&2; exit 1; }
for data; do
  [ -d "$data" ] || amiss "$data is not there, or no folder"
  [ -r "$data" ] && [ -x "$data" ] || amiss "$data may not be read by the user of commands"
  [ "$user" = root ] || [ ! -w "$data" ] || amiss "$data may be written by the user of commands"
  found=
  for each in "$data"/* "$data"/.[!.]*; do
    [ -e "$each" ] || continue
    found=yes
    [ -r "$each" ] || amiss "$each may not be read by the user of commands"
    [ "$user" = root ] || [ ! -w "$each" ] || amiss "$each may be written by the user of commands"
  done
  [ "$found" ] || amiss "$data is empty"
done`;

/** Throws `setup_failed` where data is amiss, and whatever else the link throws. */
export async function checkData(
  link: Pick<SandboxLink, 'prepare'>,
  target: SandboxTarget,
  template: Template,
  signal: AbortSignal,
): Promise<void> {
  const targets = ofImages(template).map((folder) => folder.target);
  if (targets.length === 0) return;
  const look = ['/bin/sh', '-c', looksAtData, template.runAs, ...targets];
  try {
    await link.prepare(target, [look], template.startTimeoutMs, signal);
  } catch (thrown) {
    throw amissIn(thrown) ?? thrown;
  }
}

export const hasImageData = (template: Template): boolean => ofImages(template).length > 0;

const ofImages = ({ data }: Template): readonly ImageFolder[] => data.filter((folder) => 'image' in folder);

/** What was said of a folder, at the end of what sandboxd says of the command; null where nothing was. */
function amissIn(thrown: unknown): Failure | null {
  if (!(thrown instanceof LinkError) || thrown.trouble.kind !== 'refused') return null;
  const said = /data: (?<of>\/.*)/.exec(thrown.trouble.message)?.groups?.['of'];
  if (said === undefined) return null;
  return new Failure(
    'setup_failed',
    `the data of the environment is amiss: ${said}; fix the image that holds it`,
    {
      evidence: { step: 'prepare', data: said, ...failsEverywhere },
      cause: thrown,
    },
  );
}
