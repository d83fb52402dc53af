import { connect } from 'node:net';

export type RawAnswer = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
};

/**
 * Sends bytes as they are and returns the final answer (100 Continue is skipped), so that a test can say what no HTTP
 * client would. Rejects when the connection ends without one, or after `deadlineMs`.
 */
export function sendRaw(
  port: number,
  bytes: readonly (string | Buffer)[],
  deadlineMs = 10_000,
): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    let text = '';
    const finish = (end: () => void) => {
      socket.destroy();
      end();
    };
    socket.setTimeout(deadlineMs, () =>
      finish(() => reject(new Error(`no answer in ${deadlineMs} ms: ${text}`))),
    );
    socket.on('connect', () => {
      for (const part of bytes) socket.write(part);
    });
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
      const answer = parseAnswer(text);
      if (answer !== null) finish(() => resolve(answer));
    });
    socket.on('error', (error) => finish(() => reject(error)));
    socket.on('close', () => finish(() => reject(new Error(`the connection ended after: ${text}`))));
  });
}

function parseAnswer(text: string): RawAnswer | null {
  const final = text.replace(/^HTTP\/1\.1 1\d\d [^\r]*\r\n\r\n/, '');
  const end = final.indexOf('\r\n\r\n');
  if (end < 0) return null;
  const [statusLine = '', ...headerLines] = final.slice(0, end).split('\r\n');
  const headers = Object.fromEntries(
    headerLines.map((line) => [
      line.slice(0, line.indexOf(':')).toLowerCase(),
      line.slice(line.indexOf(':') + 1).trim(),
    ]),
  );
  const body = final.slice(end + 4);
  if (body.length < Number(headers['content-length'] ?? 0) && !isHeadless(body)) return null;
  return { status: Number(statusLine.split(' ')[1]), headers, body };
}

// An answer to HEAD announces a length and sends nothing.
function isHeadless(body: string): boolean {
  return body.length === 0;
}
