import type { ClusterSettings } from '#src/model/cluster.ts';

/** What is the same for every sandbox of one fleet. */
export type PodSettings = ClusterSettings & { readonly fleet: string };
