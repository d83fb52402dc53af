import type { ProbeDependency } from '#src/ports/dependency-probe.ts';

/** A backend as its probe sees it. */
export class FakeBackend {
  /** Why it fails; null: it works. */
  state: string | null = null;
  /** Whether a gateway can make a probe at all. */
  isReachable = true;
  readonly probed: string[] = [];

  readonly probe: ProbeDependency = async (address) => {
    this.probed.push(address);
    if (!this.isReachable) throw new Error('this process cannot probe');
    return this.state;
  };
}
