import type { Log } from '#src/ports/log.ts';
import type { Range } from './addresses.ts';
import type { Groups } from '../cgroups/groups.ts';
import { openDoor } from './door.ts';
import { createLoad } from './load.ts';
import type { UseReport } from './messages.ts';
import { createProven, type Usual } from './proven.ts';
import type { Bounds } from './proxy/account.ts';
import { openConnectionTables, type ProxySite } from './start-proxy.ts';
import { type MirrorClient, type Proxy, superviseProxy } from './supervise-proxy.ts';
import { createTallyFile } from './tally-file.ts';

/** The package mirrors of all sandboxes of this node: a process for each sandbox asks them, outside of its network. */
export type MirrorProxies = {
  /** Answers for the mirrors of a sandbox until it is stopped. Rejects if it cannot, or if a mirror never worked and does not now. */
  open(client: MirrorClient, signal: AbortSignal): Promise<Proxy>;
};

export type MirrorOptions = ProxySite & {
  readonly privateAddresses: readonly Range[];
  readonly bounds: Bounds;
  readonly groups: Groups;
  readonly log: Log;
};

export function createMirrorProxies(options: MirrorOptions): MirrorProxies {
  const load = createLoad();
  const proven = createProven();
  const doubtOf = (run: string, { failed }: UseReport) => {
    if (failed !== null && !proven.isProven(failed)) return 'unproven';
    return load.isMost(run) ? 'load' : null;
  };
  return {
    open: async (client, signal) => {
      const tally = createTallyFile(client.tallyFile);
      const connections = openConnectionTables(client.pid);
      const closeFiles = () => {
        tally.close();
        connections.close();
      };
      const hear = (report: UseReport) => {
        for (const address of report.good) proven.note(address);
        load.count(client.runOf(), report.asked);
        return doubtOf(client.runOf(), report);
      };
      const addresses = Object.values(client.mirrors).flat();
      const unproven = addresses.filter((address) => !proven.isProven(address));
      const door = await openDoor(client.pid, signal).catch((thrown: unknown) => {
        closeFiles();
        throw thrown;
      });
      const files = { tally, connections, door, closeFiles };
      const told = {
        unproven,
        usual: () => proven.usual(addresses),
        hearUsual: (usual: Usual) => proven.noteUsual(usual),
        hear,
      };
      return superviseProxy({ ...options, client, ...files, ...told }, signal);
    },
  };
}
