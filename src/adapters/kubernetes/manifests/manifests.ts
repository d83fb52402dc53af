import type {
  V1ClusterRole,
  V1ClusterRoleBinding,
  V1Namespace,
  V1ObjectMeta,
  V1PolicyRule,
  V1Role,
  V1RoleBinding,
  V1ServiceAccount,
} from '@kubernetes/client-node';
import type { Verb } from '../api/calls.ts';
import { fleetLabels, type ManifestSettings } from './labels.ts';
import { networkPolicies } from './network-policies.ts';

/**
 * Everything that a fleet needs of a cluster before its processes start, in the order in which it can be created. Its
 * sandboxes are all that comes later, and they are the controller's.
 */
export const manifests = (settings: ManifestSettings): readonly object[] => [
  ...namespaces(settings),
  ...access(settings),
  ...networkPolicies(settings),
];

type PodSecurity = 'baseline' | 'restricted';

/** One for the sandboxes, where nothing else lives, and one for the fleet's own processes. */
const namespaces = ({ fleet, namespace, home, singleUid }: ManifestSettings): V1Namespace[] => [
  // Two ids inside need a sandboxd that starts as root, which `restricted` does not admit.
  namespaceOf(namespace, fleet, singleUid ? 'restricted' : 'baseline'),
  namespaceOf(home, fleet, 'restricted'),
];

/** The API server refuses what a pod may not be, also where our own pod spec were wrong. */
const namespaceOf = (name: string, fleet: string, level: PodSecurity): V1Namespace => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name, labels: { ...fleetLabels(fleet), 'pod-security.kubernetes.io/enforce': level } },
});

/** What a controller asks the API server for, all of it: `inNamespace` in the sandboxes', `inDefault` in `default`, `inCluster` everywhere. */
export const controllerGrants = {
  inNamespace: {
    pods: ['create', 'get', 'list', 'watch', 'patch', 'delete'],
    // Of a start that failed: the cluster's own words why.
    events: ['list'],
  },
  // Where events about nodes are: one that had no memory left says so.
  inDefault: { events: ['list'] },
  // Nodes belong to no namespace: a lost node is what makes its sandboxes lost.
  inCluster: { nodes: ['list', 'watch'] },
} as const satisfies Record<string, Readonly<Record<string, readonly Verb[]>>>;

type Access = V1ServiceAccount | V1Role | V1RoleBinding | V1ClusterRole | V1ClusterRoleBinding;

/**
 * Who may what. A gateway may nothing: it speaks to Redis and to sandboxes, never to the API server, and its pods get
 * no token. Sandboxes run as their namespace's `default` account, to which nothing is granted, without its token.
 */
function access(settings: ManifestSettings): Access[] {
  const { fleet, namespace, home } = settings;
  const controller = { kind: 'ServiceAccount', name: `${fleet}-controller`, namespace: home };
  const inNamespace = marked(fleet, `${fleet}-controller`, namespace);
  // Beside everybody's: their names say whose they are.
  const inDefault = marked(fleet, `corral-${fleet}-node-events`, 'default');
  const inCluster = marked(fleet, `corral-${fleet}-nodes`);
  return [
    account(marked(fleet, controller.name, home), true),
    account(marked(fleet, `${fleet}-gateway`, home), false),
    { ...rbac('Role', inNamespace), rules: rulesOf(controllerGrants.inNamespace) },
    { ...rbac('RoleBinding', inNamespace), roleRef: refOf('Role', inNamespace), subjects: [controller] },
    { ...rbac('Role', inDefault), rules: rulesOf(controllerGrants.inDefault) },
    { ...rbac('RoleBinding', inDefault), roleRef: refOf('Role', inDefault), subjects: [controller] },
    { ...rbac('ClusterRole', inCluster), rules: rulesOf(controllerGrants.inCluster) },
    {
      ...rbac('ClusterRoleBinding', inCluster),
      roleRef: refOf('ClusterRole', inCluster),
      subjects: [controller],
    },
  ];
}

type Named = V1ObjectMeta & { readonly name: string };

const marked = (fleet: string, name: string, namespace?: string): Named => ({
  name,
  ...(namespace === undefined ? {} : { namespace }),
  labels: fleetLabels(fleet),
});

const account = (metadata: V1ObjectMeta, automountServiceAccountToken: boolean): V1ServiceAccount => ({
  apiVersion: 'v1',
  kind: 'ServiceAccount',
  metadata,
  automountServiceAccountToken,
});

const group = 'rbac.authorization.k8s.io';

const rbac = (kind: string, metadata: V1ObjectMeta) => ({ apiVersion: `${group}/v1`, kind, metadata });

const refOf = (kind: string, { name }: Named) => ({ apiGroup: group, kind, name });

/** All of it is of the API's core group. */
const rulesOf = (grants: Readonly<Record<string, readonly Verb[]>>): V1PolicyRule[] =>
  Object.entries(grants).map(([resource, verbs]) => ({
    apiGroups: [''],
    resources: [resource],
    verbs: [...verbs],
  }));
