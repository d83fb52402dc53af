import { createLaunchQueue } from '#src/adapters/bullmq/launch-queue.ts';
import { createFakeLaunchQueue } from '../fakes/launch-queue.ts';
import { startRedis } from '../support/redis.ts';
import { describeLaunchQueue } from './launch-queue.ts';

describeLaunchQueue('the fake of tests', async () => ({
  open: async () => createFakeLaunchQueue(),
  close: async () => undefined,
}));

const onError = () => undefined;

describeLaunchQueue('BullMQ over a real Redis', async () => {
  const redis = await startRedis();
  let fleets = 0;
  const open = async () => {
    fleets += 1;
    return createLaunchQueue({ redis: redis.socket, fleet: `fleet-${fleets}`, onError });
  };
  return { open, close: () => redis.stop() };
});
