import { parseAllDocuments } from 'yaml';
import { expect, test } from 'vitest';
import { withColdStart } from './stages.ts';

const stage = (name: string) =>
  `apiVersion: kwok.x-k8s.io/v1alpha1\nkind: Stage\nmetadata:\n  name: ${name}\nspec:\n  next:\n    delete: true\n`;
const read = (text: string) => parseAllDocuments(text).map((document) => document.toJS() as unknown);

test('pods become ready when their annotation says so, and everything else stays as kwok ships it', () => {
  const shipped = [stage('pod-ready'), stage('pod-delete')].join('\n---\n');
  expect(read(withColdStart(shipped))).toEqual([
    expect.objectContaining({
      spec: {
        next: { delete: true },
        delay: {
          durationMilliseconds: 0,
          durationFrom: { expressionFrom: '.metadata.annotations["corral/cold-start"]' },
          jitterDurationFrom: { expressionFrom: '.metadata.annotations["corral/cold-start-max"]' },
        },
      },
    }),
    ...read(stage('pod-delete')),
  ]);
});
