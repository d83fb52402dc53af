import { clusterDefaults, type PodSettings } from '#src/model/cluster.ts';
import type { Template } from '#src/model/environment.ts';
import { sandboxId, templateDigest } from '#src/model/ids.ts';
import type { CreateRequest } from '#src/ports/sandbox-provider.ts';
import { fakeTemplate } from './environment.ts';

/** A sandbox of an image, as a cluster gets it; what a test is about is given. */
export function podRequest(given: Partial<Template> = {}): CreateRequest {
  const template = fakeTemplate({
    digest: templateDigest('d'.repeat(64)),
    image: { kind: 'image', reference: 'registry.example.com/tasks/one:1' },
    ...given,
  });
  return { sandbox: sandboxId('s0a1b-0123456789abc'), template, tokenSha256: 'f'.repeat(64) };
}

/** A fleet that says nothing but its name and that its images bring sandboxd along. */
export function podSettings(given: Partial<PodSettings> = {}): PodSettings {
  return { ...clusterDefaults, namespace: 'sandboxes', fleet: 'test', sandboxd: { kind: 'baked' }, ...given };
}
