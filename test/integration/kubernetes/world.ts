import type { CallMeasure } from '#src/adapters/kubernetes/api/calls.ts';
import { createKubernetesProvider, type KubernetesProvider } from '#src/adapters/kubernetes/provider.ts';
import { clusterDefaults, type PodSettings } from '#src/model/cluster.ts';
import { type SandboxId, templateDigest } from '#src/model/ids.ts';
import { systemClock } from '#src/platform/clock.ts';
import { systemRandom } from '#src/platform/random.ts';
import { createFakeLog } from '#test/fakes/log.ts';
import { testTemplate } from '#test/support/sandboxes.ts';
import { type ScriptedApi, startScriptedApi } from './scripted-api.ts';

export type ProviderWorld = {
  readonly api: ScriptedApi;
  readonly provider: KubernetesProvider;
  readonly measures: CallMeasure[];
  close(): Promise<void>;
};

export const settings: PodSettings = {
  ...clusterDefaults,
  namespace: 'sandboxes',
  fleet: 'test',
  sandboxd: { kind: 'baked' },
};

export const template = testTemplate({
  digest: templateDigest('sha256:template'),
  image: { kind: 'image', reference: 'corral.local/demo:1' },
});

/** A provider that speaks to an API server of the test's own. */
export async function openProviderWorld(changes: Partial<PodSettings> = {}): Promise<ProviderWorld> {
  const api = await startScriptedApi();
  const measures: CallMeasure[] = [];
  const provider = createKubernetesProvider({
    credentials: {
      server: api.url,
      namespace: null,
      current: () => Promise.resolve({ tls: { ca: api.ca }, headers: { authorization: 'Bearer token' } }),
      forget: () => undefined,
    },
    pods: { ...settings, ...changes },
    clock: systemClock,
    random: systemRandom,
    log: createFakeLog(),
    onCall: (measure) => void measures.push(measure),
  });
  return {
    api,
    provider,
    measures,
    close: async () => {
      await provider.close();
      await api.close();
    },
  };
}

export const request = (sandbox: SandboxId) => ({ sandbox, template, tokenSha256: 'a'.repeat(64) });
