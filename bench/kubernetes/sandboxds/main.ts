import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createApi } from '#src/adapters/kubernetes/api/calls.ts';
import { createConnections } from '#src/adapters/kubernetes/api/connections.ts';
import { loadCredentials } from '#src/adapters/kubernetes/api/credentials.ts';
import { fleetSelector } from '#src/adapters/kubernetes/pod/labels.ts';
import { follow } from '#src/adapters/kubernetes/watch/follow.ts';
import { systemClock } from '#src/platform/clock.ts';
import { systemRandom } from '#src/platform/random.ts';
import { type Resident, residentOf } from './resident.ts';
import { createTown } from './town.ts';

/**
 * `main.ts NAMESPACE FLEET PORT`: one process that answers as sandboxd at the address of every pod of a fleet whose nodes
 * are fake, once the pods' network is routed to this machine. It learns of pods as a kubelet does, by a watch, and says
 * `listening` when it knows all that there are.
 */
const [namespace = '', fleet = '', port = ''] = process.argv.slice(2);

/** Nobody waits for this process but a benchmark, which has its own deadlines. */
const connections = { answerTimeoutMs: 30_000, watchSilenceMs: 600_000 };

const credentials = await loadCredentials(null, systemClock);
const options = {
  credentials,
  connections: createConnections({ server: credentials.server, ...connections }),
  clock: systemClock,
  random: systemRandom,
  onCall: () => {},
};

const town = createTown();
const server = createServer((request: IncomingMessage, response: ServerResponse) => {
  const inhabitant = town.at(request.socket.localAddress ?? '');
  if (inhabitant === undefined) request.socket.destroy();
  else inhabitant.answer(request, response);
});
// A gateway keeps one connection to each of them.
server.keepAliveTimeout = 600_000;
server.listen(Number(port), '0.0.0.0', 4_096);

await follow<Resident>(
  options,
  createApi(options),
  {
    resource: 'pods',
    path: `/api/v1/namespaces/${namespace}/pods`,
    labelSelector: fleetSelector(fleet),
  },
  {
    viewOf: residentOf,
    onListed: (residents) => {
      town.onlyThese(residents);
      console.log('listening');
    },
    onChanged: town.settle,
    onDeleted: town.leave,
    onTrouble: (thrown) => console.error(thrown),
  },
  new AbortController().signal,
);
