import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { stringify } from 'yaml';
import { freePort } from '#cli/fleet/free-port.ts';
import { monitoringPrograms } from '#infra/monitoring/programs.ts';

/*
 * A real Prometheus beside an installed fleet, in the hub, where it reaches every pod. Debian's is built without discovery by
 * Kubernetes, so its targets are a file that follows the pods; they have the labels that the chart's PodMonitor gives.
 */

export type Prometheus = {
  /** Of its API. */
  readonly url: string;
  /** An answer of its API: the number of series that the query gives. Throws what it says of a query that it does not take. */
  query(expr: string): Promise<number>;
  /** A line for each target: its pod, its health, and what its last scrape failed with. */
  targets(): Promise<readonly string[]>;
  stop(): Promise<void>;
};

export type Beside = {
  readonly namespace: string;
  readonly fleet: string;
  readonly rules: string;
  /** Port of the recorder that stands for Alertmanager. */
  readonly alertmanagerPort: number;
};

/** Scrapes and evaluates every second; resolves when it is ready to be asked. */
export async function startPrometheus(beside: Beside): Promise<Prometheus> {
  const { prometheus } = await monitoringPrograms((line) => console.error(line));
  const folder = await mkdtemp(join(tmpdir(), 'corral-prometheus-'));
  const port = await freePort(0);
  const url = `http://127.0.0.1:${port}`;
  await writeFile(join(folder, 'rules.yaml'), beside.rules);
  await writeFile(join(folder, 'targets.json'), '[]');
  await writeFile(join(folder, 'prometheus.yaml'), stringify(configOf(folder, beside)));
  const followed = followPods(beside, join(folder, 'targets.json'));
  const server = spawn(prometheus, argsOf(folder, port), { stdio: ['ignore', 'ignore', 'pipe'] });
  const said: string[] = [];
  createInterface(server.stderr).on('line', (line) => said.push(line));
  const stop = async () => {
    followed.stop();
    await ended(server);
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await untilReady(url, server, said);
  } catch (error) {
    await stop();
    throw error;
  }
  return { url, query: (expr) => countOf(url, expr), targets: () => targetsOf(url), stop };
}

const configOf = (folder: string, { alertmanagerPort }: Beside) => ({
  // What may not take as long as until the next: then it is later, and no two are under way.
  global: { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' },
  rule_files: [join(folder, 'rules.yaml')],
  alerting: { alertmanagers: [{ static_configs: [{ targets: [`127.0.0.1:${alertmanagerPort}`] }] }] },
  scrape_configs: [{ job_name: 'corral', file_sd_configs: [targetsIn(join(folder, 'targets.json'))] }],
});

/** Read each second, too: a change that inotify does not report is otherwise seen after five minutes. */
const targetsIn = (file: string) => ({ files: [file], refresh_interval: '1s' });

const argsOf = (folder: string, port: number): readonly string[] => [
  `--config.file=${join(folder, 'prometheus.yaml')}`,
  `--storage.tsdb.path=${join(folder, 'data')}`,
  `--web.listen-address=127.0.0.1:${port}`,
  // Alertmanager is told again each second, so that the end of an alert is heard as soon as its beginning.
  '--rules.alert.resend-delay=1s',
  '--log.level=warn',
];

async function untilReady(url: string, server: ChildProcess, said: readonly string[]): Promise<void> {
  const deadlineMs = performance.now() + 60_000;
  while (performance.now() < deadlineMs && server.exitCode === null) {
    const answer = await fetch(`${url}/-/ready`).catch(() => null);
    if (answer?.ok === true) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`Prometheus does not come up:\n${said.join('\n')}`);
}

type TargetsAnswer = {
  readonly data: {
    readonly activeTargets: readonly {
      readonly labels: Readonly<Record<string, string>>;
      readonly health: string;
      readonly lastError: string;
    }[];
  };
};

async function targetsOf(url: string): Promise<readonly string[]> {
  const response = await fetch(`${url}/api/v1/targets?state=active`);
  const { data } = (await response.json()) as TargetsAnswer;
  return data.activeTargets.map(({ labels, health, lastError }) =>
    `${labels['pod']}: ${health} ${lastError}`.trimEnd(),
  );
}

async function countOf(url: string, expr: string): Promise<number> {
  const response = await fetch(`${url}/api/v1/query?${new URLSearchParams({ query: expr }).toString()}`);
  const answer = (await response.json()) as {
    readonly status: string;
    readonly error?: string;
    readonly data?: { readonly result: readonly unknown[] };
  };
  if (answer.status !== 'success') throw new Error(`${expr}: ${answer.error ?? 'no reason'}`);
  return answer.data?.result.length ?? 0;
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGTERM');
  await once(child, 'exit');
}

const ports: Readonly<Record<string, number>> = { gateway: 8080, controller: 9100 };

type Target = { readonly targets: readonly string[]; readonly labels: Readonly<Record<string, string>> };

const fields = [
  '.type',
  '.object.metadata.name',
  String.raw`.object.metadata.labels.app\.kubernetes\.io/component`,
  '.object.status.podIP',
  '.object.status.phase',
];
const line = `${fields.map((field) => `{${field}}`).join('|')}{"\\n"}`;

/** One kubectl that watches, instead of one a second that lists: the machine has two cores. */
function followPods({ namespace, fleet }: Beside, file: string): { readonly stop: () => void } {
  const targets = new Map<string, Target>();
  let writing = Promise.resolve();
  const heard = (text: string) => {
    const [type = '', pod = '', component = '', address = '', phase = ''] = text.split('|');
    const port = ports[component];
    if (port === undefined) return;
    const isThere = type !== 'DELETED' && phase === 'Running' && address !== '';
    if (isThere)
      targets.set(pod, { targets: [`${address}:${port}`], labels: { namespace, fleet, pod, component } });
    else targets.delete(pod);
    const now = JSON.stringify([...targets.values()]);
    writing = writing.then(() => replace(file, now));
  };
  const selected = ['--namespace', namespace, '--selector', `corral.dev/fleet=${fleet}`];
  const follow = ['--watch', '--output-watch-events', `--output=jsonpath=${line}`];
  let stopped = false;
  let watching: ChildProcess | null = null;
  const watch = () => {
    if (stopped) return;
    const child = spawn('kubectl', ['get', 'pods', ...selected, ...follow], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    watching = child;
    createInterface(child.stdout).on('line', heard);
    // The API server ends a watch after some minutes.
    child.once('exit', () => setTimeout(watch, 500));
  };
  watch();
  return {
    stop: () => {
      stopped = true;
      watching?.kill('SIGKILL');
    },
  };
}

/** Whole, or as it was: Prometheus reads it when it changes. */
async function replace(file: string, text: string): Promise<void> {
  await writeFile(`${file}.new`, text);
  await rename(`${file}.new`, file).catch(() => undefined);
}
