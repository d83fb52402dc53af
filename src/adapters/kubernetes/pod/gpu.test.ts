import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadEnvironments } from '#src/environments/load-environments.ts';
import { isOpenTemplate } from '#src/model/environment.ts';
import { environmentFolder } from '#test/support/environment-folder.ts';
import { podRequest, podSettings } from '#test/fakes/pod-request.ts';
import { podFor } from './pod.ts';

const page = join(import.meta.dirname, '../../../../docs/environments/images.md');

test('the pod of the documented example asks for one whole GPU, on nodes that have some', async () => {
  const section = (await readFile(page, 'utf8')).split('## GPUs')[1] ?? '';
  const yaml = /```yaml\n([\s\S]*?)```/.exec(section)?.[1] ?? '';
  await using folder = await environmentFolder({ 'gpu-kernels.yaml': yaml });
  const [environment] = (await loadEnvironments(folder.path)).all();
  const template = environment?.template;
  if (template === undefined || isOpenTemplate(template)) throw new Error('the example has no template');
  const { spec } = podFor(podRequest(template), podSettings());
  const [container, ...others] = spec?.containers ?? [];
  expect(others).toEqual([]);
  expect(container?.resources).toMatchObject({
    requests: { cpu: '2000m', 'nvidia.com/gpu': '1' },
    limits: { cpu: '8000m', 'nvidia.com/gpu': '1' },
  });
  expect(spec).toMatchObject({
    runtimeClassName: 'nvidia',
    nodeSelector: { pool: 'gpu' },
    tolerations: expect.arrayContaining([
      expect.objectContaining({ key: 'nvidia.com/gpu', effect: 'NoSchedule' }),
    ]) as unknown,
  });
});
