import type { ClaimStore } from '#src/ports/fleet/claims.ts';
import type { RequestsInHand } from '#src/lifecycle/requests-in-hand.ts';
import type { AliasStore } from '#src/ports/fleet/registry.ts';
import type { ReportStore } from '#src/ports/fleet/reports.ts';
import type { Clock } from '#src/ports/clock.ts';
import type { Random } from '#src/ports/random.ts';
import type { PeerTokens } from '#src/platform/tokens.ts';
import type { GatewayCore } from '../core-interface.ts';
import type { FailureListener } from '../http/answer-failure.ts';

/** What E2B's routes work with. */
export type E2bParts = {
  readonly core: GatewayCore;
  readonly aliases: AliasStore;
  readonly reports: Pick<ReportStore, 'rollouts'>;
  /** Dataset rows, which hold the metadata of sandboxes. */
  readonly rows: Pick<ClaimStore, 'row'>;
  readonly requests: Pick<RequestsInHand, 'open' | 'whenDecided'>;
  readonly tokens: PeerTokens;
  readonly clock: Clock;
  readonly random: Random;
  readonly fileBytes: number;
  /** How long a client that opens a sandbox waits for it. */
  readonly lineMs: number;
  /** Hears of what failed in a stream, after its status was sent. */
  readonly onFailure: FailureListener;
};
