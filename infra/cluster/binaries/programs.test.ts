import { expect, test } from 'vitest';
import { kubernetesVersion } from './cache.ts';
import { linkerFlags, requiredVersion } from './programs.ts';

const goMod = `module corral/cluster

require k8s.io/kubernetes v1.34.4

require (
	k8s.io/kubernetes-more v9.9.9
	sigs.k8s.io/kwok v0.8.0 // indirect
)
`;

test('a version is read from either form of a requirement', () => {
  expect(requiredVersion(goMod, 'k8s.io/kubernetes')).toBe('v1.34.4');
  expect(requiredVersion(goMod, 'sigs.k8s.io/kwok')).toBe('v0.8.0');
});

test('a module that is not required has no version', () => {
  expect(() => requiredVersion(goMod, 'example.org/none')).toThrow('go.mod requires no example.org/none');
});

test('the linker is told the version whole and in its parts', () => {
  const flags = linkerFlags('v1.34.4');
  expect(flags).toContain('gitVersion=v1.34.4');
  expect(flags).toContain('gitMajor=1');
  expect(flags).toContain('gitMinor=34');
});

test('our own go.mod pins one version of Kubernetes', async () => {
  expect(await kubernetesVersion()).toMatch(/^v1\.\d+\.\d+$/);
});
