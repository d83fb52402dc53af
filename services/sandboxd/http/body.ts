import type { IncomingMessage } from 'node:http';
import { WireError } from '../wire-error.ts';

/** The gateway takes at most 1 MiB from a trainer; as JSON of JSON it can grow about sixfold. */
const largestBodyBytes = 8 * 1024 * 1024;

/** A JSON body. Throws `payload_too_large` or `invalid_request`. */
export async function readJson(request: IncomingMessage): Promise<unknown> {
  const bytes = await readBody(request);
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    throw new WireError('invalid_request', 'the body is not JSON');
  }
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    sizeBytes += chunk.length;
    if (sizeBytes > largestBodyBytes) {
      throw new WireError('payload_too_large', `a body may have ${largestBodyBytes} bytes`);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
