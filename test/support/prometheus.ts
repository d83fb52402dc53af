import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { stringify } from 'yaml';
import { freePort } from '#cli/fleet/free-port.ts';
import { monitoringPrograms } from '#infra/monitoring/programs.ts';

/** A process that is scraped, with the labels that a PodMonitor would give it. */
export type Target = { readonly url: string; readonly labels: Readonly<Record<string, string>> };

export type PrivatePrometheus = { readonly url: string; stop(): Promise<void> };

/** Fast enough for a test that lasts seconds; rules that look back a minute see sixty samples of it. */
const interval = '1s';

/**
 * A Prometheus of one test file on loopback, gone with all it has kept when it is stopped; it has scraped every target when
 * this resolves. `rules`: a file of rules, as text.
 */
export async function startPrometheus(targets: readonly Target[], rules: string): Promise<PrivatePrometheus> {
  const { prometheus } = await monitoringPrograms(() => undefined);
  const folder = await mkdtemp(join(tmpdir(), 'corral-prometheus-'));
  const config = join(folder, 'prometheus.yaml');
  await writeFile(join(folder, 'rules.yaml'), rules);
  await writeFile(config, stringify(configOf(targets)));
  const listen = `127.0.0.1:${await freePort(0)}`;
  const flags = [
    `--config.file=${config}`,
    `--storage.tsdb.path=${folder}/data`,
    `--web.listen-address=${listen}`,
  ];
  // The kernel ends it with us: a test runner that is killed cannot.
  const server = spawn('setpriv', ['--pdeathsig', 'KILL', '--', prometheus, ...flags], { stdio: 'ignore' });
  const stop = async () => {
    await end(server);
    await rm(folder, { recursive: true, force: true });
  };
  const url = `http://${listen}`;
  try {
    await untilReady(server, () => hasScraped(url, targets.length));
  } catch (thrown) {
    await stop();
    throw thrown;
  }
  return { url, stop };
}

const configOf = (targets: readonly Target[]) => ({
  global: { scrape_interval: interval, scrape_timeout: interval, evaluation_interval: interval },
  rule_files: ['rules.yaml'],
  scrape_configs: [
    {
      job_name: 'corral',
      static_configs: targets.map(({ url, labels }) => ({ targets: [new URL(url).host], labels })),
    },
  ],
});

/** It takes a second; a minute is a machine that is badly overloaded. */
const startTries = 600;

async function untilReady(server: ChildProcess, isReady: () => Promise<boolean>): Promise<void> {
  for (let tried = 0; tried < startTries && server.exitCode === null; tried += 1) {
    if (await isReady().catch(() => false)) return;
    await sleep(100);
  }
  throw new Error('Prometheus does not answer, or cannot scrape');
}

async function hasScraped(url: string, targets: number): Promise<boolean> {
  const answer = await fetch(`${url}/api/v1/query?query=${encodeURIComponent('sum(up) or vector(0)')}`);
  const { data } = (await answer.json()) as {
    data: { result: readonly [{ value: readonly [number, string] }] };
  };
  return Number(data.result[0].value[1]) === targets;
}

async function end(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  const exited = once(server, 'exit');
  server.kill('SIGKILL');
  await exited;
}
