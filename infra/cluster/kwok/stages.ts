import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { sourceOf } from '../binaries/go.ts';

/**
 * What kwok plays for its nodes and pods; it refuses to start without. They lie in its module: nodes that become Ready and
 * renew their lease, pods that become ready at once, complete and are deleted.
 */
const files = [
  'node/fast/node-initialize.yaml',
  'node/heartbeat-with-lease/node-heartbeat-with-lease.yaml',
  'pod/fast/pod-ready.yaml',
  'pod/fast/pod-complete.yaml',
  'pod/fast/pod-delete.yaml',
];

const documentEnd = '\n---\n';

/** The stages as kwok ships them, as one text. */
export async function readStages(): Promise<string> {
  const folder = join(await sourceOf('kwok', 'sigs.k8s.io/kwok'), 'kustomize', 'stage');
  const texts = await Promise.all(files.map((file) => readFile(join(folder, file), 'utf8')));
  return texts.join(documentEnd);
}

type Stage = {
  readonly metadata: { readonly name: string };
  readonly spec: Readonly<Record<string, unknown>>;
};

/**
 * Lets a pod say how long it takes to become ready, as durations in two annotations: `corral/cold-start` and, for a time
 * between the two by chance, `corral/cold-start-max`. Without them it is ready at once.
 */
export function withColdStart(stages: string): string {
  return stages.split(documentEnd).map(delayed).join(documentEnd);
}

const from = (annotation: string) => ({ expressionFrom: `.metadata.annotations["${annotation}"]` });

function delayed(text: string): string {
  const stage = parse(text) as Stage;
  if (stage.metadata.name !== 'pod-ready') return text;
  const delay = {
    durationMilliseconds: 0,
    durationFrom: from('corral/cold-start'),
    jitterDurationFrom: from('corral/cold-start-max'),
  };
  return stringify({ ...stage, spec: { ...stage.spec, delay } });
}
