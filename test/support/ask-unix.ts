import { request } from 'node:http';

/** One HTTP request over a unix socket, with whatever body a test wants to be wrong. */
export function askUnix(
  socketPath: string,
  method: string,
  path: string,
  body?: string,
): Promise<{ readonly status: number; readonly text: string }> {
  return new Promise((resolve, reject) => {
    const asked = request({ socketPath, method, path }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
    });
    asked.on('error', reject);
    asked.end(body);
  });
}
