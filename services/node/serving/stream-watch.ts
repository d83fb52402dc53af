import type { ServerResponse } from 'node:http';
import { watchAliveEveryMs, type WatchLine } from '#src/protocol/node/wire.ts';
import type { Feed } from '../sandbox/feed.ts';
import type { Sandboxes } from '../sandbox/sandboxes.ts';

/** What a watcher may have unread before it is cut off; it comes back and starts from the list. */
const longestBacklogBytes = 4 * 1024 * 1024;

/** Streams the feed as NDJSON until the client goes away. */
export function streamWatch(response: ServerResponse, feed: Feed, sandboxes: Sandboxes): void {
  const write = (line: WatchLine) => {
    response.write(`${JSON.stringify(line)}\n`);
    if (response.writableLength > longestBacklogBytes) response.destroy();
  };
  response.writeHead(200, { 'content-type': 'application/x-ndjson' });
  // Causes first: a watcher that finds a sandbox missing from the list should already know why.
  for (const end of feed.recentlyGone()) write(end);
  write({ kind: 'listed', sandboxes: [...sandboxes.list()] });
  const stop = feed.listen((event) =>
    write(event.kind === 'listed' ? { ...event, sandboxes: [...event.sandboxes] } : event),
  );
  const alive = setInterval(() => write({ kind: 'alive' }), watchAliveEveryMs);
  response.once('close', () => {
    stop();
    clearInterval(alive);
  });
}
