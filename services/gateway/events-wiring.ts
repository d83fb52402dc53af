import { ownAddress } from '../../src/platform/own-address.ts';
import type { Loop } from '../../src/platform/every.ts';
import { ownHost, tellKeeper } from '../../src/platform/tell-keeper.ts';
import { FleetEvents } from '../../src/reports/fleet-events.ts';
import { answerPeer, OwnEvents } from '../../src/reports/own-events.ts';
import type { GatewayConfig } from './config.ts';
import type { EventDesk } from './native/event-routes.ts';
import type { OpenWorld } from './world-wiring.ts';

export type WiredEvents = {
  readonly desk: EventDesk;
  /** From now on others may ask at this URL, until the signal aborts. */
  begin(
    url: string,
    until: { readonly signal: AbortSignal; readonly onError: (thrown: unknown) => void },
  ): Loop;
};

/** A gateway's own log, and those of the other processes, as one. */
export function wireEvents(
  world: Pick<OpenWorld, 'clock' | 'events' | 'logId' | 'peers' | 'state' | 'tokens'>,
  config: Pick<GatewayConfig, 'advertisedHost' | 'eventLog' | 'host'>,
): WiredEvents {
  const { clock, tokens, peers, logId: log } = world;
  const keepers = world.state.eventKeepers;
  const own = new OwnEvents({ log: world.events, clock });
  const self = { name: `gateway ${ownHost}`, log };
  const all = new FleetEvents({ self, own, keepers, ask: peers.ask, clock });
  let address = '';
  return {
    desk: {
      tell: (wanted) => all.tell(wanted),
      answerPeer: (target, authorization) => answerPeer({ own, address, tokens }, target, authorization),
    },
    begin: (url, until) => {
      address = ownAddress({ host: config.host, port: Number(new URL(url).port) }, config.advertisedHost);
      const keeper = { component: 'gateway', address, keeps: config.eventLog.folder !== null } as const;
      return tellKeeper({ keepers, log, keeper, clock, ...until });
    },
  };
}
