import type { IncomingMessage } from 'node:http';
import { WireError } from '../wire-error.ts';

/**
 * The gateway takes at most 1 MiB from a trainer; as JSON of JSON it can grow about sixfold. A grader may be told of the whole
 * rollout besides: its sample, and 4,000 calls whose texts are control characters.
 */
const largestBodyBytes = 16 * 1024 * 1024;

/** A JSON body. Throws `payload_too_large` or `invalid_request`. */
export async function readJson(request: IncomingMessage): Promise<unknown> {
  const bytes = await readBody(request);
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    throw new WireError('invalid_request', 'the body is not JSON');
  }
}

/** By events: what an iterator brings along is a millisecond of a fresh sandboxd's first call. */
function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  return new Promise((resolve, reject) => {
    request.on('data', (chunk: Buffer) => {
      sizeBytes += chunk.length;
      if (sizeBytes <= largestBodyBytes) return void chunks.push(chunk);
      // What still comes is dropped as it comes, so that our answer gets through.
      chunks.length = 0;
      reject(new WireError('payload_too_large', `a body may have ${largestBodyBytes} bytes`));
    });
    request.once('end', () => resolve(Buffer.concat(chunks)));
    request.once('error', reject);
    request.once('close', () => reject(new WireError('invalid_request', 'the body broke off')));
  });
}
