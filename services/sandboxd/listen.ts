import { once } from 'node:events';
import { rmSync } from 'node:fs';
import type { Server } from 'node:http';
import type { ListenAddress } from './config.ts';

/** Resolves when the server accepts connections. Only our own user may connect to a unix socket. */
export async function listen(server: Server, address: ListenAddress): Promise<void> {
  const ownUmask = process.umask(0o177);
  try {
    if (address.kind === 'tcp') {
      server.listen(address.port, address.host);
    } else {
      // Left by an earlier life in the same folder; nobody listens there any more.
      rmSync(address.path, { force: true });
      server.listen(address.path);
    }
    await once(server, 'listening');
  } finally {
    process.umask(ownUmask);
  }
}
