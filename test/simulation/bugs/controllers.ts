import type { ControllerPorts } from '#services/controller/ports.ts';

/** A Redis that has forgotten is made the fleet's without what the sandboxes could have told. */
export function writesNothingBack(ports: ControllerPorts): ControllerPorts {
  const recovery: ControllerPorts['recovery'] = {
    ...ports.recovery,
    restoreRollout: async () => 'live',
    markUnsure: async () => undefined,
  };
  return { ...ports, recovery };
}

/** Whatever ended a sandbox, what ran in it is said to have used up its memory. */
export function blamesThePolicy(ports: ControllerPorts): ControllerPorts {
  const { lifecycle } = ports;
  const lose: typeof lifecycle.lose = (sandbox, boot, _cause, evidence) =>
    lifecycle.lose(sandbox, boot, 'out_of_memory', evidence);
  return { ...ports, lifecycle: { ...lifecycle, lose } };
}
