import { createInhabitant, type Inhabitant } from './inhabitant.ts';
import type { Resident } from './resident.ts';

/** Who lives at which address. An address that is given to another pod has another inhabitant from then on. */
export type Town = {
  at(address: string): Inhabitant | undefined;
  readonly settle: (resident: Resident) => void;
  readonly leave: (resident: Resident) => void;
  /** These, and nobody else. */
  onlyThese(residents: readonly Resident[]): void;
};

export function createTown(): Town {
  const inhabitants = new Map<string, Inhabitant>();

  const settle = (resident: Resident) => {
    if (resident.address === null || inhabitants.get(resident.address)?.uid === resident.uid) return;
    inhabitants.set(resident.address, createInhabitant(resident));
  };
  const leave = ({ uid, address }: Resident) => {
    if (address !== null && inhabitants.get(address)?.uid === uid) inhabitants.delete(address);
  };
  return {
    at: (address) => inhabitants.get(address),
    settle,
    leave,
    onlyThese: (residents) => {
      const uids = new Set(residents.map(({ uid }) => uid));
      for (const [address, { uid }] of inhabitants) if (!uids.has(uid)) inhabitants.delete(address);
      residents.forEach(settle);
    },
  };
}
