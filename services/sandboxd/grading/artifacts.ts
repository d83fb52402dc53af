import type { ServerResponse } from 'node:http';
import type { ArtifactsRequest } from '#src/protocol/sandboxd/wire.ts';
import type { Daemon } from '../daemon.ts';
import { bytesOut } from '../files.ts';
import { sweepAll } from '../processes/sweep.ts';
import { WireError } from '../wire-error.ts';

/**
 * Takes out what a grader elsewhere is to see: after everything of the policy's was killed, so that what is looked at is what
 * is sent, and by a helper that is its user, so that nothing is read which the policy could not read itself. It has the
 * sandbox for itself, as a turn of a grader has. Throws `file_error` for what the policy left otherwise than it is named.
 *
 * A sandbox may be filled so that the helper has the memory to look at everything and not to send it. That is the policy's doing
 * too, so it is no broken connection, after which one asks again until there is no time left: the archive ends without its end mark.
 */
export async function takeArtifacts(
  { config, leaders, turns }: Daemon,
  { turn, ...wanted }: ArtifactsRequest,
  response: ServerResponse,
  gone: AbortSignal,
): Promise<void> {
  const taken = await turns.alone(turn, gone, async () => {
    const { survivors } = await sweepAll(config, leaders);
    if (survivors > 0)
      throw new WireError('file_error', `${survivors} processes could not be killed`, 'EBUSY');
    await bytesOut(config, 'policy', ['take-artifacts', JSON.stringify(wanted)], response, isWant);
    return 'taken';
  });
  if (taken === null) throw new WireError('graded', 'a later turn of the same rollout took over');
}

const isWant = (error: unknown) =>
  error instanceof WireError && (error.errno === 'ENOMEM' || error.errno?.startsWith('SIG') === true);
