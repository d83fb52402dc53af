import { queueStates } from '#src/ports/launch-queue.ts';
import { ofEnvironment, ofTemplate, oneOf, type Specs } from './spec.ts';

/** Every controller reads the same fleet state, so each tells the whole: a sum over controllers would double it. */
const fleet = { by: ['controller'], of: 'fleet' } as const;

/** What the fleet has and has used, whichever controller tells it. */
export const toldOfFleet = {
  corral_fleet_pool: {
    ...fleet,
    kind: 'gauge',
    help: 'Sandboxes by template and state (ready, launching, held), rollouts that wait for one (waiting), and what bursts ask to be ready (announced)',
    labels: [ofTemplate, oneOf('state', ['ready', 'launching', 'held', 'waiting', 'announced'])],
  },
  corral_fleet_pool_limit: {
    ...fleet,
    kind: 'gauge',
    help: 'How many sandboxes of a template are kept ready (min), and how many may be at all (max)',
    labels: [ofTemplate, oneOf('kind', ['min', 'max'])],
  },
  corral_fleet_breaker_open: {
    ...fleet,
    kind: 'gauge',
    help: '1 while the template starts no sandboxes because too many starts in a row have failed',
    labels: [ofTemplate],
  },
  corral_fleet_line_oldest_seconds: {
    ...fleet,
    kind: 'gauge',
    help: 'How long the rollout has waited that has waited longest for a sandbox of the template; 0: none waits',
    labels: [ofTemplate],
  },
  corral_fleet_template_info: {
    ...fleet,
    kind: 'gauge',
    help: '1, with an environment that uses the template',
    labels: [{ kind: 'pair', names: ['template', 'environment'], says: 'a template, and a name for it' }],
  },
  corral_fleet_start_budget: {
    ...fleet,
    kind: 'gauge',
    help: 'Sandboxes that start now, and how many may at once',
    labels: [oneOf('kind', ['used', 'limit'])],
  },
  corral_fleet_launch_queue: {
    ...fleet,
    kind: 'gauge',
    help: 'Tickets of the launch queue',
    labels: [oneOf('state', queueStates, 'as BullMQ says')],
  },
  corral_fleet_sandbox_seconds_total: {
    ...fleet,
    kind: 'counter',
    help: 'Seconds of sandboxes that have ended or changed their state; an emptied Redis begins at 0 again',
    labels: [
      ofEnvironment,
      oneOf(
        'state',
        ['starting', 'ready', 'scored', 'discarded', 'ungraded'],
        'until it was ready; ready and nobody’s; then, of a rollout, by what became of that',
      ),
    ],
    fromStart: [],
  },
} as const satisfies Specs;
