/**
 * A controller's worker that takes a ticket, reserves a start, says which sandbox it got, and then hangs until it is
 * killed. Arguments: the socket of Redis, the template's digest.
 */
import { createLaunchQueue } from '#src/adapters/bullmq/launch-queue.ts';
import { sandboxId, templateDigest } from '#src/model/ids.ts';
import { systemRandom } from '#src/platform/random.ts';
import { openState } from './fleet.ts';

const [socket = '', digest = ''] = process.argv.slice(2);
const state = await openState(socket);
const queue = createLaunchQueue({
  redis: socket,
  fleet: 'test',
  max: 1,
  random: systemRandom,
  onError: (error) => console.error(error),
});

const targets = [{ template: templateDigest(digest), minReady: 1, max: 1 }];
const hang = () => new Promise<never>(() => undefined);

await queue.offer(1);
await queue.work(
  1,
  async (ticket) => {
    const reservation = await state.pool.reserve(ticket.name, sandboxId('doomed'), targets, 1, 60_000);
    console.log(`reserved ${reservation?.sandbox}`);
    return hang();
  },
  new AbortController().signal,
);
