import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startFleetOnCluster } from '#cli/fleet/start-fleet.ts';
import { inOwnFolder } from '#cli/fleet/temporary-fleet.ts';
import { say, untilEnd } from '#demo/command/until-end.ts';
import { openNamespace } from '#demo/fleet/namespace.ts';
import { openHttp } from '#demo/trainer/http.ts';
import { trainingJob } from '#demo/trainer/training-job.ts';
import { systemClock } from '#src/platform/clock.ts';
import { systemRandom } from '#src/platform/random.ts';
import type { SoakOptions } from '../options.ts';
import { type HostileWorld, playCommands } from './play.ts';
import { honestCommand, hostileCommands, hostileKinds, work } from './policies.ts';
import { describePlayed, isHeld, type Played } from './report.ts';

const environmentName = 'hostile';
const minuteMs = 60_000;
const progressMs = 15_000;

/**
 * Honest rollouts and four hostile policies side by side in pods of the cluster that kubectl would use, each again and again until the
 * minutes are over. Resolves with whether no score was false and no hostile discard without a mark.
 */
export async function hostileSoak(options: SoakOptions): Promise<boolean> {
  const fleet = await startFleet(options.rollouts);
  say(
    `A fleet on the cluster, ${options.rollouts} honest rollouts and ${hostileKinds.length} hostile ones at once.`,
  );
  return untilEnd(fleet, async () => {
    const played = await play(fleet, options);
    await mkdir(options.out, { recursive: true });
    await writeFile(join(options.out, 'hostile.json'), `${JSON.stringify(played, null, 2)}\n`);
    say(describePlayed(played).join('\n'));
    return isHeld(played);
  });
}

async function play(
  fleet: { readonly gatewayUrl: string; readonly apiKey: string },
  { minutes, rollouts }: SoakOptions,
): Promise<readonly Played[]> {
  const run = `hostile-${systemRandom.text(8)}`;
  const http = openHttp();
  const { gatewayUrl, apiKey } = fleet;
  const job = trainingJob({ gatewayUrl, apiKey, run, environment: environmentName, tools: ['shell'] });
  const world = { gatewayUrl, apiKey, run, job, post: http.post, clock: systemClock, random: systemRandom };
  const untilMs = systemClock.monotonicMs() + minutes * minuteMs;
  const played: Played[] = [];
  const progress = setInterval(() => say(`${played.length} rollouts have ended`), progressMs);
  try {
    const honest = Array.from({ length: rollouts }, () => playAgain(world, 'honest', untilMs, played));
    const hostile = hostileKinds.map((kind) => playAgain(world, kind, untilMs, played));
    await Promise.all([...honest, ...hostile]);
    return played;
  } finally {
    clearInterval(progress);
    await http.close();
  }
}

const honestCalls = 6;

async function playAgain(world: HostileWorld, who: Played['who'], untilMs: number, played: Played[]) {
  const commands =
    who === 'honest'
      ? Array.from({ length: honestCalls }, () => honestCommand)
      : [work, hostileCommands[who], hostileCommands[who]];
  const worth = who === 'honest' ? honestCalls : 1;
  while (systemClock.monotonicMs() < untilMs) {
    const rollout = `${who}_${systemRandom.text(10)}`;
    played.push({ who, worth, ...(await playCommands(world, rollout, commands)) });
  }
}

/** A grader that ends badly, for whatever reason, gives 0: so a false zero is seen. */
const environment = (atOnce: number) => `
name: ${environmentName}
sandbox: { image: "corral.local/bare:dev", cpu: { request: 10m, limit: "1" }, memory: 128Mi, disk: 64Mi }
tools: { shell: { builtin: shell, timeout: 30s } }
grader:
  kind: command
  command: [sh, -c, 'as-policy sh -c "wc -l < log" > "$CORRAL_SCORE_FILE"']
  on_exit: 0
  on_timeout: 0
  on_out_of_memory: 0
  on_broken: 0
pool: { min_ready: ${Math.ceil(atOnce / 4)}, max: ${Math.ceil(atOnce * 1.5) + 2 * hostileKinds.length} }
`;

function startFleet(atOnce: number) {
  return inOwnFolder('hostile', async (stateDir) => {
    const namespace = await openNamespace(`corral-hostile-${systemRandom.text(6)}`);
    try {
      const environmentsDir = join(stateDir, 'environments');
      const file = join(stateDir, 'cluster.yaml');
      await mkdir(environmentsDir);
      await writeFile(join(environmentsDir, `${environmentName}.yaml`), environment(atOnce));
      await writeFile(file, `{ namespace: ${namespace.name}, sandboxd: baked }\n`);
      const fleet = await startFleetOnCluster({ environmentsDir, stateDir }, { file });
      const { gatewayUrl, apiKey } = fleet;
      return { gatewayUrl, apiKey, stop: () => fleet.stop().then(() => namespace.remove()) };
    } catch (error) {
      await namespace.remove();
      throw error;
    }
  });
}
