import { connect } from 'node:net';
import { Client } from 'undici';

/** Whether redis-server on this unix socket answers PING: it also refuses commands while it loads its file. */
export function redisAnswers(socketPath: string, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = connect({ path: socketPath });
    signal.addEventListener('abort', () => socket.destroy(new Error('no answer in time')), { once: true });
    socket.on('error', reject);
    socket.on('close', () => resolve(false));
    socket.on('connect', () => socket.write('PING\r\n'));
    socket.once('data', (answer) => {
      resolve(answer.toString('latin1').startsWith('+PONG'));
      socket.destroy();
    });
  });
}

/** Whether a GET answers 2xx. With `socketPath` the address's host is only a name. */
export async function httpAnswers(url: string, signal: AbortSignal, socketPath?: string): Promise<boolean> {
  const { origin, pathname } = new URL(url);
  const client = new Client(origin, socketPath === undefined ? {} : { socketPath });
  try {
    const { statusCode, body } = await client.request({ method: 'GET', path: pathname, signal });
    await body.dump();
    return statusCode >= 200 && statusCode < 300;
  } finally {
    await client.destroy();
  }
}
