import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { parseKeyFile } from '#src/access/key-file.ts';
import { wordsOf } from '#src/adapters/kubernetes/api/answer.ts';
import type { Api } from '#src/adapters/kubernetes/api/calls.ts';
import { secretName } from '../installation/secrets.ts';
import { examineKeys } from './keys.ts';
import { type Finding, ok, note, problem } from './finding.ts';

export type ClusterPlace = { readonly fleet: string; readonly home: string; readonly sandboxes: string };

/** What is commonly wrong with a fleet on a cluster, as far as this account may look. */
export async function examineCluster(
  api: Api,
  place: ClusterPlace,
  nowMs: number,
): Promise<readonly Finding[]> {
  const examined = await Promise.all([
    examineVersion(api),
    examineNamespace(api, place),
    examinePolicy(api, place),
    examineKeySecret(api, place, nowMs),
    examinePods(api, place),
  ]);
  return examined.flat();
}

const Version = Type.Object({ major: Type.String(), minor: Type.String() });
const oldestMinor = 29;

async function examineVersion(api: Api): Promise<Finding> {
  const what = 'Kubernetes';
  const answer = await get(api, 'version', '/version');
  if (answer.value === null || !Value.Check(Version, answer.value)) return notSeen(what, answer.reason);
  const { major, minor } = answer.value;
  if (Number.parseInt(minor, 10) >= oldestMinor) return ok(what, `${major}.${minor}`);
  return problem(what, `${major}.${minor}`, `1.${oldestMinor} or newer has what the chart uses`);
}

const Labelled = Type.Object({
  metadata: Type.Object({ labels: Type.Optional(Type.Record(Type.String(), Type.String())) }),
});
const podSecurity = 'pod-security.kubernetes.io/enforce';

async function examineNamespace(api: Api, { fleet, sandboxes }: ClusterPlace): Promise<Finding> {
  const what = `namespace ${sandboxes}`;
  const answer = await get(api, 'namespaces', `/api/v1/namespaces/${sandboxes}`);
  if (answer.status === 404)
    return problem(what, 'it does not exist', `helm upgrade ${fleet} …, or corral cluster manifests`);
  if (answer.value === null || !Value.Check(Labelled, answer.value)) return notSeen(what, answer.reason);
  const level = answer.value.metadata.labels?.[podSecurity];
  if (level === 'baseline' || level === 'restricted') return ok(what, `Pod Security ${level}`);
  return problem(
    what,
    level === undefined ? 'no Pod Security level' : `Pod Security ${level}`,
    `kubectl label namespace ${sandboxes} ${podSecurity}=restricted`,
  );
}

async function examinePolicy(api: Api, { fleet, sandboxes }: ClusterPlace): Promise<Finding> {
  const what = 'network policy';
  const path = `/apis/networking.k8s.io/v1/namespaces/${sandboxes}/networkpolicies/${fleet}-sandboxes`;
  const answer = await get(api, 'networkpolicies', path);
  if (answer.status === 404)
    return problem(
      what,
      `${fleet}-sandboxes does not exist: sandboxes are open to the network`,
      'helm upgrade, or corral cluster manifests',
    );
  if (answer.value === null) return notSeen(what, answer.reason);
  return note(
    what,
    `${fleet}-sandboxes exists; whether it is enforced is up to the network plugin`,
    'corral preflight tries it',
  );
}

const KeySecret = Type.Object({ data: Type.Object({ 'keys.json': Type.String() }) });

async function examineKeySecret(
  api: Api,
  { fleet, home }: ClusterPlace,
  nowMs: number,
): Promise<readonly Finding[]> {
  const what = 'API keys';
  const name = secretName(fleet, 'keys');
  const answer = await get(api, 'secrets', `/api/v1/namespaces/${home}/secrets/${name}`);
  if (answer.value === null || !Value.Check(KeySecret, answer.value))
    return [notSeen(what, answer.status === 404 ? `no Secret ${name} in ${home}` : answer.reason)];
  const text = Buffer.from(answer.value.data['keys.json'], 'base64').toString();
  try {
    return examineKeys(parseKeyFile(text), nowMs);
  } catch (error) {
    return [
      problem(what, error instanceof Error ? error.message : String(error), `correct the Secret ${name}`),
    ];
  }
}

const PodList = Type.Object({
  items: Type.Array(
    Type.Object({
      metadata: Type.Object({ name: Type.String() }),
      status: Type.Object({
        conditions: Type.Optional(
          Type.Array(
            Type.Object({
              type: Type.String(),
              status: Type.String(),
              message: Type.Optional(Type.String()),
            }),
          ),
        ),
      }),
    }),
  ),
});

async function examinePods(api: Api, { fleet, home }: ClusterPlace): Promise<readonly Finding[]> {
  const what = 'pods of the fleet';
  const query = {
    labelSelector: `corral.dev/fleet=${fleet},app.kubernetes.io/component in (gateway,controller)`,
  };
  const answer = await get(api, 'pods', `/api/v1/namespaces/${home}/pods`, query);
  if (answer.value === null || !Value.Check(PodList, answer.value)) return [notSeen(what, answer.reason)];
  const { items } = answer.value;
  if (items.length === 0)
    return [problem(what, `none in ${home}`, 'check --fleet and --home, and helm status')];
  const waiting = items.flatMap(({ metadata, status }) => {
    const ready = status.conditions?.find(({ type }) => type === 'Ready');
    return ready?.status === 'True' ? [] : [{ name: metadata.name, why: ready?.message ?? 'not started' }];
  });
  if (waiting.length === 0) return [ok(what, `${items.length}, all ready`)];
  return waiting.map(({ name, why }) =>
    problem(
      `pod ${name}`,
      `not ready: ${why}`,
      `kubectl describe pod ${name} -n ${home}; kubectl logs ${name} -n ${home}`,
    ),
  );
}

const notSeen = (what: string, reason: string): Finding =>
  note(
    what,
    `not seen: ${reason}`,
    'let an account look that may read it, such as the one that installed the fleet',
  );

type Seen = { readonly status: number; readonly value: unknown; readonly reason: string };

/** `value` is null for every answer but 200. */
async function get(
  api: Api,
  resource: string,
  path: string,
  query?: Readonly<Record<string, string>>,
): Promise<Seen> {
  const answer = await api.call({ verb: 'get', resource, path, ...(query && { query }) });
  const isThere = answer.status === 200;
  return { status: answer.status, value: isThere ? answer.value : null, reason: wordsOf(answer).message };
}
