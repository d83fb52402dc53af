/**
 * A controller's worker that reserves a start, takes its job, says which sandbox it got, and then hangs until it is
 * killed. With `no-job` it hangs before it adds the job. Arguments: the socket of Redis, the template's digest.
 */
import { createLaunchQueue } from '#src/adapters/bullmq/launch-queue.ts';
import { sandboxId, templateDigest } from '#src/model/ids.ts';
import { openState } from './fleet.ts';

const [socket = '', digest = '', how = ''] = process.argv.slice(2);
const state = await openState(socket);
const onError = (error: Error) => console.error(error);
const queue = createLaunchQueue({ redis: socket, fleet: 'test', onError });

const targets = [{ template: templateDigest(digest), minReady: 1, max: 1 }];
const hang = () => new Promise<never>(() => undefined);

const { launches } = await state.pool.reserve([sandboxId('doomed')], targets, 1, 60_000);
const say = () => console.log(`reserved ${launches[0]?.sandbox}`);
if (how === 'no-job') {
  say();
  await hang();
}
await queue.add(launches);
await queue.work(1, () => (say(), hang()), new AbortController().signal);
