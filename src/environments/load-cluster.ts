import type { ClusterSettings } from '../model/cluster.ts';
import { compileCluster } from './compile/cluster.ts';
import { operatorFile } from './operator-file.ts';
import { ClusterSchema } from './schema/cluster.ts';

const read = operatorFile(ClusterSchema, "the operator's cluster file");

/** The operator's file about the cluster. Throws `EnvironmentMistakes` that list everything wrong in it. */
export const loadCluster = async (file: string): Promise<ClusterSettings> => compileCluster(await read(file));
