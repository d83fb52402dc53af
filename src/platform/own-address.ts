import { networkInterfaces } from 'node:os';

type Listening = { readonly host: string; readonly port: number };

/**
 * Where other processes of the fleet reach this one, `http://10.0.0.7:8080`. Who listens at every address names the first
 * that leads out of this machine, a pod's own; `advertised` (CORRAL_ADVERTISED_HOST) where that is the wrong one.
 */
export function ownAddress({ host, port }: Listening, advertised: string | null): string {
  const name = advertised ?? (isEverywhere(host) ? (firstAddress() ?? '127.0.0.1') : host);
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}`;
}

const isEverywhere = (host: string) => host === '0.0.0.0' || host === '::';

function firstAddress(): string | undefined {
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  const outer = all.filter(({ internal, address }) => !internal && !address.startsWith('fe80:'));
  return (outer.find(({ family }) => family === 'IPv4') ?? outer[0])?.address;
}
