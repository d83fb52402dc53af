import type { CommandUser } from '#src/protocol/sandboxd/wire.ts';
import { Capture } from '../command/capture.ts';
import type { Config } from '../config.ts';
import { parseReply, replyBytes, startHelper } from './run.ts';

/** One question to a helper that answers in a line of JSON. Throws `file_error` with what it reports, and `internal`. */
export async function askHelper(
  config: Config,
  user: CommandUser,
  request: readonly string[],
  longestMs: number,
  stdin = '',
): Promise<Readonly<Record<string, unknown>>> {
  const helper = await startHelper(config, user, request, longestMs);
  try {
    const said = new Capture(replyBytes);
    helper.process.stdout.on('data', (chunk: Buffer) => said.push(chunk));
    helper.process.child.stdin?.end(stdin);
    await helper.succeeded;
    return parseReply(said.taken().head.toString('utf8'));
  } finally {
    helper.release();
  }
}
