import type { Socket } from 'node:net';
import { type Account, type Bounds, createAccount } from './account.ts';
import type { Tally } from './tally.ts';
import type { Whose } from './whose.ts';

/** Who made a connection. A user whose connection has no owner any more counts as the policy, as far as bounds are concerned. */
export type User = { readonly whose: Whose; readonly account: Account };

/** The policy and the grader have bounds of their own, so that neither uses up the other's. */
export type Users = {
  /** Counts a connection. Null: there is no room for it. */
  admit(socket: Socket): User | null;
};

export function createUsers(bounds: Bounds, whoseIs: (socket: Socket) => Whose, tally: Tally): Users {
  const accounts = { policy: createAccount(bounds), grader: createAccount(bounds) };
  const open = { policy: 0, grader: 0 };
  return {
    admit: (socket) => {
      const whose = whoseIs(socket);
      const bounded = whose === 'grader' ? 'grader' : 'policy';
      if (open[bounded] >= bounds.connections) {
        tally.refused(whose);
        return null;
      }
      open[bounded] += 1;
      tally.connected(whose);
      socket.once('close', () => {
        open[bounded] -= 1;
        tally.disconnected(whose);
      });
      return { whose, account: accounts[bounded] };
    },
  };
}
