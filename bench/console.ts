import type { Benchmark } from './figures.ts';
import { gatewayCost } from './console/gateway-cost.ts';
import { keepingCost } from './console/keeping-cost.ts';
import { pageWork } from './console/page-work.ts';

/**
 * What the console costs: a browser's work for a run of 10,000 rollouts against one of 500, and a gateway's processor for texts
 * that it keeps and logs that a console follows.
 */
export const consolePages: Benchmark = {
  name: 'console',
  run: async (say, runs) => [
    ...(await pageWork(say, runs)),
    ...(await keepingCost(say, runs)),
    ...(await gatewayCost(say, runs)),
  ],
};
