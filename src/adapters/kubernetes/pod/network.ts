import type { V1PodSpec } from '@kubernetes/client-node';
import { Failure } from '#src/failure/failure.ts';
import type { NetworkClass } from '#src/model/cluster.ts';
import type { PodSettings } from './settings.ts';

/** Without a network no name can be looked up, and each try shall fail at once instead of after a resolver's patience. */
const noNetwork: NetworkClass = { dnsPolicy: 'None', env: {}, egress: [] };

/** Throws `start_failed` for a class that the operator did not define. */
export function networkClass(name: string, { networks }: Pick<PodSettings, 'networks'>): NetworkClass {
  if (name === 'none') return noNetwork;
  const known = networks[name];
  if (known !== undefined) return known;
  const offered = ['none', ...Object.keys(networks)].join(', ');
  throw new Failure('start_failed', `network "${name}" is not offered by this fleet; there is: ${offered}`, {
    evidence: { network: name },
  });
}

export function dnsFields({ dnsPolicy }: NetworkClass): Pick<V1PodSpec, 'dnsPolicy' | 'dnsConfig'> {
  // The field must name a server, and nobody listens at this one.
  return dnsPolicy === 'None' ? { dnsPolicy, dnsConfig: { nameservers: ['127.0.0.1'] } } : { dnsPolicy };
}
