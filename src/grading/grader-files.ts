import type { SandboxLink, SandboxTarget } from '../ports/sandbox-link.ts';
import { longestScoreBytes, parseScore } from './score-file.ts';

const transferMs = 60_000;

/** One file of the grader's own, where the policy's user cannot read it. Writing it again is harmless. */
export async function placeFile(
  link: Pick<SandboxLink, 'putFile'>,
  target: SandboxTarget,
  path: string,
  text: string,
): Promise<void> {
  await link.putFile(target, path, bytesOf(text), 'grader', AbortSignal.timeout(transferMs));
}

/** The number that the grader wrote. Throws `grader_failed` when it is none. */
export async function readScore(
  link: Pick<SandboxLink, 'getFile'>,
  target: SandboxTarget,
  path: string,
): Promise<number> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of await link.getFile(target, path, 'grader', AbortSignal.timeout(transferMs))) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > longestScoreBytes) break;
  }
  return parseScore(Buffer.concat(chunks).toString('utf8'));
}

async function* bytesOf(text: string): AsyncIterable<Uint8Array> {
  yield Buffer.from(text, 'utf8');
}
