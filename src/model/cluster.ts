import { anyPlace, type Placement } from './environment.ts';

/**
 * How sandboxd comes into a sandbox of any image:
 *
 *   image_volume     the kubelet mounts the payload image, read-only and shared by all pods of a node; the feature gate
 *                    ImageVolume (since Kubernetes 1.31, and still off by default in 1.34) and a runtime that can
 *   baked            the payload is a layer of the sandbox's own image; nothing is needed of the cluster
 *   init_container   a container that runs first copies the payload into the pod; works everywhere, at the price of
 *                    its copy in every pod (disk, page cache and start time)
 */
export type SandboxdInjection =
  | { readonly kind: 'image_volume'; readonly image: string }
  | {
      readonly kind: 'baked';
      /** Where the images have it; absent: where those of the previous version have it. */
      readonly folder?: string;
    }
  | { readonly kind: 'init_container'; readonly image: string };

/** A network that the operator defined. The packets are NetworkPolicy's, by label; the pod only gets names and variables. */
export type NetworkClass = {
  readonly dnsPolicy: 'ClusterFirst' | 'Default' | 'None';
  /** Of every command: proxies, package mirrors. */
  readonly env: Readonly<Record<string, string>>;
  /** Where its sandboxes may connect to, beside the cluster's name servers; nowhere else. */
  readonly egress: readonly EgressRule[];
};

export type EgressRule = {
  readonly cidr: string;
  /** Parts of `cidr` that stay closed. */
  readonly except: readonly string[];
  /** None named: all. */
  readonly ports: readonly { readonly port: number; readonly protocol: 'TCP' | 'UDP' }[];
};

export const imagePullPolicies = ['Always', 'IfNotPresent', 'Never'] as const;

export const hostUsersSettings = ['auto', 'require', 'off'] as const;

/** What is the same for every sandbox that fleets have on one cluster; all of it the operator's. */
export type ClusterSettings = {
  /** Where sandboxes live; nothing else should. */
  readonly namespace: string;
  readonly sandboxd: SandboxdInjection;
  /** sandboxd's, in the pod's own network. */
  readonly port: number;
  readonly imagePullPolicy: (typeof imagePullPolicies)[number];
  /** Names of Secrets in the namespace. */
  readonly imagePullSecrets: readonly string[];
  /** Every sandbox runs under one id, whatever its template says: where the namespace enforces `restricted`. */
  readonly singleUid: boolean;
  /** Whether a sandbox has ids of its own on its node; `auto`: where all nodes can. */
  readonly hostUsers: (typeof hostUsersSettings)[number];
  /** How long a sandbox stays bound to a node that does not answer. */
  readonly nodeLossSeconds: number;
  readonly networks: Readonly<Record<string, NetworkClass>>;
  /** Of every sandbox; a template's own comes on top. */
  readonly placement: Placement;
};

/** What an operator who says nothing gets. */
export const clusterDefaults = {
  port: 8911,
  imagePullPolicy: 'IfNotPresent',
  imagePullSecrets: [],
  singleUid: false,
  hostUsers: 'auto',
  // As long as failed dials are waited out before a sandbox counts as lost: by then nobody wants it any more.
  nodeLossSeconds: 10,
  networks: {},
  placement: anyPlace,
} as const satisfies Omit<ClusterSettings, 'namespace' | 'sandboxd'>;

/** The same for every sandbox of one fleet. */
export type PodSettings = ClusterSettings & { readonly fleet: string };
