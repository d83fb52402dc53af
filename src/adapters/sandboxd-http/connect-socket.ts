import { closeSync, constants, fstatSync, openSync } from 'node:fs';
import { buildConnector } from 'undici';

/** `O_PATH` of Linux, the same on both architectures that we run on: names a file without opening what is in it. */
const pathOnly = 0o10000000;

/**
 * Connects to the unix socket at `path`, and to nothing that stands there in its place: where commands have sandboxd's
 * own id they may put a link there, and we would speak to whatever it names, as one whom everybody here obeys. The
 * connection goes to the very file that was looked at, so there is nothing to win in between. Its folders are the
 * provider's, and no command can change them.
 */
export function socketConnector(path: string, connectTimeoutMs: number): buildConnector.connector {
  return (options, callback) => {
    let file: number;
    try {
      file = openSocket(path);
    } catch (thrown) {
      return callback(thrown instanceof Error ? thrown : new Error(String(thrown)), null);
    }
    const connect = buildConnector({ socketPath: `/proc/self/fd/${file}`, timeout: connectTimeoutMs });
    connect(options, (...result) => {
      closeSync(file);
      callback(...result);
    });
  };
}

/** Throws when there is no socket itself at the path. */
function openSocket(path: string): number {
  const file = openSync(path, pathOnly | constants.O_NOFOLLOW);
  if (fstatSync(file).isSocket()) return file;
  closeSync(file);
  throw new Error(`${path} is no socket of sandboxd's any more: something else was put in its place`);
}
