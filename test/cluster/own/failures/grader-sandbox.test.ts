import { afterAll, beforeAll, expect, test } from 'vitest';
import { sandboxId, type SandboxId } from '#src/model/ids.ts';
import {
  type ClusterFleetOfTest,
  podResources,
  startClusterFleetOfTest,
} from '#test/support/cluster-fleet.ts';
import { killSandboxd } from '#test/support/cluster-provider.ts';
import { eventually } from '#test/support/eventually.ts';

/** A grader in a pod of its own, and what its end, and that of the policy's pod, do to the score: nothing. */
const environment = 'elsewhere';
const yaml = `
name: ${environment}
sandbox: { image: "corral.local/bare:dev", ${podResources} }
tools: { shell: { builtin: shell, timeout: 60s } }
grader:
  kind: command
  grade_in: fresh
  artifacts: [log]
  on_artifacts: 0
  command: [sh, -c, 'sleep 10; as-policy sh -c "wc -l < log" > "$CORRAL_SCORE_FILE"']
  on_exit: discard
  on_timeout: discard
  on_out_of_memory: discard
  on_broken: 0
pool: { min_ready: 2, max: 12, grader: { min_ready: 1, max: 4 } }
`;

let corral: ClusterFleetOfTest;
beforeAll(async () => {
  corral = await startClusterFleetOfTest({ name: 'elsewhere', environments: { [environment]: yaml } });
});
afterAll(() => corral.stop());

/** Pods of this rollout whose role is the grader's, by the labels that its provider wrote. */
async function graderPods(rollout: string): Promise<readonly string[]> {
  const { items } = JSON.parse(await corral.kubectl(['get', 'pods', '--output=json'])) as {
    readonly items: readonly {
      readonly metadata: { readonly name: string; readonly annotations?: object };
    }[];
  };
  return items
    .filter(({ metadata }) => JSON.stringify(metadata.annotations ?? {}).includes(`/${rollout}/1/grader`))
    .map(({ metadata }) => metadata.name);
}

async function played(trace: string): Promise<void> {
  for (const call of ['c1', 'c2'])
    expect(await corral.rft.call({ trace, call, command: 'echo ran >> log', environment })).toMatchObject({
      status: 200,
    });
}

/** `lost`: its pods before this one. */
async function graderOf(trace: string, lost: readonly string[] = []): Promise<SandboxId> {
  const others = async () => (await graderPods(trace)).filter((pod) => !lost.includes(pod));
  await eventually(others, [expect.any(String)]);
  const [pod = ''] = await others();
  return sandboxId(pod);
}

test.concurrent('its sandboxd killed while it grades: another pod grades, the score is what it would have been', async () => {
  await played('killed');
  const graded = corral.rft.grade({ trace: 'killed', environment });
  const first = await graderOf('killed');
  await killSandboxd(first);
  expect(await graded).toMatchObject({ status: 200, body: { score: 2 } });
  await eventually(async () => ({ isThere: (await corral.pods()).includes(first) }), { isThere: false });
});

test.concurrent('its pod deleted by force while it grades: the same', async () => {
  await played('forced');
  const graded = corral.rft.grade({ trace: 'forced', environment });
  const first = await graderOf('forced');
  await corral.kubectl(['delete', 'pod', first, '--force', '--grace-period=0']);
  expect(await graded).toMatchObject({ status: 200, body: { score: 2 } });
});

test.concurrent('the policy’s pod deleted by force under a grader that has its artifacts: the score stands', async () => {
  await played('beyond');
  const { sandbox } = await corral.podOf('beyond');
  const graded = corral.rft.grade({ trace: 'beyond', environment });
  await graderOf('beyond');
  await corral.kubectl(['delete', 'pod', sandbox, '--force', '--grace-period=0']);
  expect(await graded).toMatchObject({ status: 200, body: { score: 2 } });
});

/** As the scheduler does it for a pod of a higher priority. */
async function preempt(pod: string): Promise<void> {
  const condition = { type: 'DisruptionTarget', status: 'True', reason: 'PreemptionByScheduler' };
  const patch = JSON.stringify({ status: { conditions: [condition] } });
  await corral.kubectl(['patch', 'pod', pod, '--subresource=status', '--type=strategic', '--patch', patch]);
  await corral.kubectl(['delete', 'pod', pod, '--wait=false']);
}

test.concurrent.each([
  ['evicted', (pod: string) => corral.evict(pod)],
  ['preempted', preempt],
] as const)(
  'its pod %s twice while it grades: a third grades, the score is what it would have been',
  async (cause, take) => {
    const trace = `${cause}-twice`;
    await played(trace);
    const graded = corral.rft.grade({ trace, environment });
    const first = await graderOf(trace);
    await take(first);
    const second = await graderOf(trace, [first]);
    await take(second);
    expect(await graded).toMatchObject({ status: 200, body: { score: 2 } });
    expect([first, second]).not.toContain(await graderOf(trace, [first, second]));
  },
);
