import { formerPlaces, payloadNodeArgv } from '#src/protocol/sandboxd/payload-layout.ts';

/*
 * What the policies of a hostile soak do. Each takes too much of one thing, and bounded, because the test cluster's nodes share a
 * machine with other work.
 */

export const hostileKinds = ['memory', 'disk', 'processes', 'network'] as const;
export type HostileKind = (typeof hostileKinds)[number];

/** What is graded: how often this has run. */
export const work = 'echo ran >> log';
export const honestCommand = `${work}; sleep 0.5`;

const inNode = (script: string) => `${payloadNodeArgv(formerPlaces.payload).join(' ')} --eval '${script}'`;

/** Connections to itself, whose bytes are never read. */
const unread = `
  const server = net.createServer((each) => each.pause()).listen(0, () => {
    for (let at = 0; at < 200; at += 1) {
      const socket = net.connect(server.address().port);
      socket.on("error", () => {}).write(Buffer.alloc(1 << 18));
    }
  });
  setTimeout(() => process.exit(), 8_000);`;

export const hostileCommands: Readonly<Record<HostileKind, string>> = {
  memory: 'for i in 1 2 3 4; do tail /dev/zero & done; tail /dev/zero; wait',
  disk: 'for i in $(seq 20); do fallocate -l 60M f$i; done; sleep 12; rm -f f*',
  processes: 'for i in $(seq 3000); do sleep 15 & done; wait',
  network: inNode(unread),
};
