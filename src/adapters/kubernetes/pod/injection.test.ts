import { describe, expect, it } from 'vitest';
import { podRequest, podSettings } from '#test/fakes/pod-request.ts';
import { podFor } from './pod.ts';
import type { SandboxdInjection } from '#src/model/cluster.ts';

const image = 'registry.example.com/corral/sandboxd:1';

function specWith(sandboxd: SandboxdInjection, given: Parameters<typeof podRequest>[0] = {}) {
  const { spec } = podFor(podRequest(given), podSettings({ sandboxd }));
  const [container] = spec?.containers ?? [];
  if (spec === undefined || container === undefined) throw new Error('the pod has no container');
  return { spec, container };
}

describe('sandboxd comes into a sandbox', () => {
  it('with the image itself, and the pod has nothing more for it', () => {
    const { spec, container } = specWith({ kind: 'baked' });
    expect(spec.initContainers).toEqual([]);
    expect(spec.volumes?.map(({ name }) => name)).toEqual(['workspace', 'tmp', 'grader']);
    expect(container.command?.[0]).toBe('/opt/corral/lib/ld.so');
    const elsewhere = specWith({ kind: 'baked', folder: '/.corral/payload' }).container;
    expect(elsewhere.command?.[0]).toBe('/.corral/payload/lib/ld.so');
    expect(elsewhere.env).toContainEqual({ name: 'CORRAL_PAYLOAD', value: '/.corral/payload' });
  });

  it('as a volume of its image, read-only', () => {
    const { spec, container } = specWith({ kind: 'image_volume', image });
    expect(spec.volumes).toContainEqual({
      name: 'corral',
      image: { reference: image, pullPolicy: 'IfNotPresent' },
    });
    expect(container.volumeMounts).toContainEqual({
      name: 'corral',
      mountPath: '/.corral/payload',
      readOnly: true,
    });
  });

  it('by a container that copies it first, with no more rights than the sandbox, and then read-only', () => {
    const { spec, container } = specWith({ kind: 'init_container', image }, { uid: 'single' });
    expect(spec.initContainers).toEqual([
      expect.objectContaining({ image, securityContext: container.securityContext }),
    ]);
    expect(spec.initContainers?.[0]?.command?.[0]).toBe('/lib/ld.so');
    expect(container.volumeMounts).toContainEqual(expect.objectContaining({ readOnly: true }));
  });

  it('and the file for its last words is where only the copier could make a mount point', () => {
    const { container } = specWith({ kind: 'init_container', image });
    expect(container.terminationMessagePath).toBe('/.corral/payload/closed/last-words');
    for (const kind of ['baked', 'image_volume'] as const) {
      expect(specWith({ kind, image }).container).not.toHaveProperty('terminationMessagePath');
    }
  });

  it('and the limit of the pod lies above that of the sandbox by the pages of the copy', () => {
    const { spec, container } = specWith({ kind: 'init_container', image }, {});
    const limits = [spec.initContainers?.[0], container].map((each) =>
      Number(each?.resources?.limits?.['memory']),
    );
    expect((limits[0] ?? 0) - (limits[1] ?? 0)).toBe(192 * 1024 ** 2);
  });

  it("and its copy is not taken off the sandbox's disk", () => {
    const diskBytes = 1024 ** 3;
    const limitOf = (sandboxd: SandboxdInjection) =>
      Number(specWith(sandboxd, { diskBytes }).container.resources?.limits?.['ephemeral-storage']);
    expect(limitOf({ kind: 'baked' })).toBe(diskBytes);
    expect(limitOf({ kind: 'init_container', image })).toBe(diskBytes + 192 * 1024 ** 2);
  });
});
