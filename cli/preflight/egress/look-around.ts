import { foundNodeArgv } from '#src/protocol/sandboxd/payload-layout.ts';

/** Numbers, never names: whether a name can be looked up inside is another question. */
export type Address = { readonly host: string; readonly port: number };

/** How a TCP connection began, or what came instead. */
export type Seen = 'connected' | 'silence' | (string & {});

export type Surroundings = {
  /** The sandbox's own addresses, without loopback. */
  readonly addresses: readonly string[];
  /** Ports on which something listens inside. */
  readonly listening: readonly number[];
  /** In the order of what was asked for; an error's code (`ECONNREFUSED`) where the network said something. */
  readonly seen: readonly Seen[];
};

/** Packets of a local network take milliseconds, and the first may be lost: the second follows after one second. */
const patienceMs = 3_000;

/** The Node heap of a probe. The probe has the sandbox's memory to itself, but it may be small. */
const nodeFlags = ['--max-old-space-size=32', '--max-semi-space-size=1', '--v8-pool-size=1'];

/**
 * The command that looks around inside a sandbox, as any command of the policy would. Its program is sandboxd's own
 * Node, which every sandbox has and every user may run, so that the image does not matter. It prints
 * {@link Surroundings}.
 */
export function lookAroundArgv(targets: readonly Address[]): readonly string[] {
  const script = `(${lookAround.toString()})(${JSON.stringify(targets)}, ${patienceMs}).then((seen) => console.log(JSON.stringify(seen)))`;
  return [...foundNodeArgv(), ...nodeFlags, '--eval', script];
}

/** Travels as text: it may name nothing outside itself. */
export async function lookAround(
  targets: readonly Address[],
  connectPatienceMs: number,
): Promise<Surroundings> {
  const net = process.getBuiltinModule('node:net');
  const os = process.getBuiltinModule('node:os');
  const fs = process.getBuiltinModule('node:fs');

  const connect = ({ host, port }: Address) =>
    new Promise<Seen>((resolve) => {
      const socket = net.connect({ host, port });
      const end = (seen: Seen) => {
        socket.destroy();
        resolve(seen);
      };
      socket.setTimeout(connectPatienceMs, () => end('silence'));
      socket.once('connect', () => end('connected'));
      socket.once('error', (error: NodeJS.ErrnoException) => end(error.code ?? error.message));
    });
  // A line of /proc/net/tcp: `0: 00000000:22CF 00000000:0000 0A …`; 0A is a socket that listens.
  const listening = ['/proc/net/tcp', '/proc/net/tcp6']
    .flatMap((file) => (fs.existsSync(file) ? fs.readFileSync(file, 'utf8').split('\n') : []))
    .map((line) => /^ *\d+: [0-9A-F]+:([0-9A-F]{4}) [0-9A-F:]+ 0A /.exec(line)?.[1])
    .flatMap((port) => (port === undefined ? [] : [Number.parseInt(port, 16)]));
  const addresses = Object.values(os.networkInterfaces())
    .flatMap((each) => each ?? [])
    .filter(({ internal, address }) => !internal && !address.startsWith('fe80:'))
    .map(({ address }) => address);
  return { addresses, listening: [...new Set(listening)], seen: await Promise.all(targets.map(connect)) };
}
