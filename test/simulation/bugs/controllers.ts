import type { ControllerPorts } from '../../../services/controller/ports.ts';

/** A Redis that has forgotten is made the fleet's without what the sandboxes could have told. */
export function writesNothingBack(ports: ControllerPorts): ControllerPorts {
  const recovery: ControllerPorts['recovery'] = {
    ...ports.recovery,
    restoreRollout: async () => 'live',
    markUnsure: async () => undefined,
  };
  return { ...ports, recovery };
}
