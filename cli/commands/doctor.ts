import type { Command } from 'commander';
import { loadEnvironments } from '#src/environments/load-environments.ts';
import { thisProcess } from '#src/platform/this-process.ts';
import { NotInOrder } from '../command-error.ts';
import { examineCluster } from '../doctor/cluster.ts';
import { describeDiagnosis, diagnosisOf, type Finding, ok, problem } from '../doctor/finding.ts';
import { examineFleet } from '../doctor/fleet.ts';
import { examineKeys } from '../doctor/keys.ts';
import { examineMachine } from '../doctor/machine.ts';
import { readKeys } from '../fleet/keys.ts';
import { stateFolderAt } from '../fleet/state-folder.ts';
import { type Connection, findConnection } from '../gateway/connection.ts';
import { createHttpClient, isUnreachable } from '../gateway/http-client.ts';
import { withApi } from '../installation/api.ts';
import { show, type Terminal } from '../print/terminal.ts';
import { type ReadingOptions, withReadingOptions, usualEnvironments } from './options.ts';

type DoctorOptions = ReadingOptions & {
  readonly environments: string;
  readonly cluster?: string;
  readonly home: string;
  readonly sandboxes?: string;
};

export function addDoctorCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command('doctor')
    .description('find common mistakes of this machine, a fleet or a cluster, each with its fix')
    .option('--environments <folder>', 'folder of environment files', usualEnvironments)
    .option('--cluster <fleet>', 'check this fleet in the cluster of KUBECONFIG instead of this machine')
    .option('--home <namespace>', 'with --cluster: where the fleet’s own processes run', 'corral')
    .option('--sandboxes <namespace>', 'with --cluster: where its sandboxes are (default: FLEET-sandboxes)');
  withReadingOptions(command).action(async (options: DoctorOptions) => {
    const diagnosis = diagnosisOf(await examine(options));
    show(terminal, options.json, diagnosis, describeDiagnosis);
    if (!diagnosis.ok) throw new NotInOrder();
  });
}

async function examine(options: DoctorOptions): Promise<readonly Finding[]> {
  const connection = findConnection(options, process.env);
  const fleet = connection === null ? [] : await examineConnection(connection, options);
  if (options.cluster !== undefined) {
    const { cluster, home, sandboxes = `${cluster}-sandboxes` } = options;
    const place = { fleet: cluster, home, sandboxes };
    return [...(await withApi((api) => examineCluster(api, place, Date.now()))), ...fleet];
  }
  if (options.url !== undefined) return fleet;
  const keys = readKeys(stateFolderAt(options.state).keysFile);
  return [
    ...(await examineMachine(options.state)),
    await examineEnvironments(options.environments),
    ...examineKeys(keys, Date.now()),
    ...fleet,
  ];
}

/** A fleet that only a state folder tells of may have stopped. */
async function examineConnection(
  connection: Connection,
  { url }: DoctorOptions,
): Promise<readonly Finding[]> {
  const client = createHttpClient(connection);
  try {
    return await examineFleet(client, thisProcess.version);
  } catch (error) {
    if (!isUnreachable(error) || url !== undefined) throw error;
    return [ok('fleet', 'none runs here')];
  } finally {
    await client.close();
  }
}

async function examineEnvironments(folder: string): Promise<Finding> {
  const what = 'environment files';
  try {
    const all = (await loadEnvironments(folder)).all();
    return ok(what, all.map(({ name }) => name).join(', '));
  } catch (error) {
    const seen = error instanceof Error ? error.message : String(error);
    return problem(what, seen, 'correct it, or give another folder with --environments');
  }
}
