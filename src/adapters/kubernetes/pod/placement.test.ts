import { expect, it } from 'vitest';
import { anyPlace } from '#src/model/environment.ts';
import { joinPlacement, placementFields } from './placement.ts';

const fleet = { fleet: 'test', nodeLossSeconds: 7 };

it('leaves a lost node after seconds, not after the five minutes of the cluster', () => {
  const { tolerations } = placementFields(anyPlace, fleet);
  expect(tolerations).toEqual(
    ['not-ready', 'unreachable'].map((trouble) => ({
      key: `node.kubernetes.io/${trouble}`,
      operator: 'Exists',
      effect: 'NoExecute',
      tolerationSeconds: 7,
    })),
  );
});

it('tolerates a taint of one value, or of any', () => {
  const tolerations = [
    { key: 'dedicated', value: 'rollouts', effect: 'NoSchedule' },
    { key: 'spot', value: null, effect: null },
  ] as const;
  expect(placementFields({ ...anyPlace, tolerations }, fleet).tolerations?.slice(2)).toEqual([
    { key: 'dedicated', operator: 'Equal', value: 'rollouts', effect: 'NoSchedule' },
    { key: 'spot', operator: 'Exists' },
  ]);
});

it("puts a template's wishes on top of the operator's", () => {
  const operators = { ...anyPlace, runtimeClass: 'runc', nodeSelector: { pool: 'cpu', zone: 'a' } };
  const templates = { ...anyPlace, runtimeClass: 'gvisor', nodeSelector: { pool: 'big' } };
  expect(placementFields(joinPlacement(operators, templates), fleet)).toMatchObject({
    runtimeClassName: 'gvisor',
    nodeSelector: { pool: 'big', zone: 'a' },
  });
  expect(joinPlacement(operators, anyPlace)).toEqual(operators);
});

it('spreads sandboxes over nodes, and waits for none', () => {
  expect(placementFields(anyPlace, fleet).topologySpreadConstraints).toEqual([
    expect.objectContaining({
      topologyKey: 'kubernetes.io/hostname',
      whenUnsatisfiable: 'ScheduleAnyway',
      labelSelector: { matchLabels: { 'corral.dev/fleet': 'test' } },
    }),
  ]);
});
