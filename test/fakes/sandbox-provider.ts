import { type Evidence, Failure } from '#src/failure/failure.ts';
import type { LossCause } from '#src/failure/codes.ts';
import type { SandboxId } from '#src/model/ids.ts';
import { type Owner, sandboxAddress } from '#src/model/rollout.ts';
import type {
  CreateRequest,
  ProvidedSandbox,
  ProviderEvent,
  SandboxProvider,
} from '#src/ports/sandbox-provider.ts';

type Method = Exclude<keyof SandboxProvider, 'watch'>;

/**
 * A provider in memory that keeps the port's promises (the contract suite runs over it). Records what it was asked; can
 * be told the next error of a method, to hold sandboxes in `starting`, and to end one.
 */
export class FakeSandboxProvider implements SandboxProvider {
  readonly created: CreateRequest[] = [];
  readonly destroyed: SandboxId[] = [];
  /** False: created sandboxes stay `starting` until {@link run}. */
  runsAtOnce = true;
  limits: readonly string[] = [];
  readonly #sandboxes = new Map<SandboxId, ProvidedSandbox>();
  readonly #watchers = new Set<(event: ProviderEvent) => void>();
  readonly #errors = new Map<Method, Failure[]>();

  failNext(method: Method, failure: Failure): void {
    this.#errors.set(method, [...(this.#errors.get(method) ?? []), failure]);
  }

  async create(request: CreateRequest): Promise<void> {
    this.#throwNext('create');
    const { sandbox, template } = request;
    if (template.image.kind === 'image') throw new Failure('start_failed', 'no images here');
    this.created.push(request);
    if (this.#sandboxes.has(sandbox)) return;
    this.#sandboxes.set(sandbox, {
      sandbox,
      template: template.digest,
      phase: 'starting',
      address: null,
      createdAtMs: 0,
      owner: null,
      expiresAtMs: null,
    });
    // Events come after the answer, as they do from a real one.
    if (this.runsAtOnce) queueMicrotask(() => this.run(sandbox));
  }

  /** Its first process runs now. */
  run(sandbox: SandboxId): void {
    const found = this.#sandboxes.get(sandbox);
    if (found === undefined) return;
    const address = sandboxAddress(`unix:/fake/${sandbox}`);
    this.#sandboxes.set(sandbox, { ...found, phase: 'running', address });
    this.#tell({ kind: 'running', sandbox, address });
  }

  async destroy(sandbox: SandboxId): Promise<void> {
    this.#throwNext('destroy');
    this.destroyed.push(sandbox);
    queueMicrotask(() => this.end(sandbox, 'deleted'));
  }

  /** It ended, by whatever cause. */
  end(sandbox: SandboxId, cause: LossCause, evidence: Evidence = {}): void {
    if (this.#sandboxes.delete(sandbox)) this.#tell({ kind: 'gone', sandbox, cause, evidence });
  }

  async list(): Promise<readonly ProvidedSandbox[]> {
    this.#throwNext('list');
    return [...this.#sandboxes.values()];
  }

  watch(onEvent: (event: ProviderEvent) => void, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.resolve();
    this.#watchers.add(onEvent);
    onEvent({ kind: 'listed', sandboxes: [...this.#sandboxes.values()] });
    return new Promise((resolve) => {
      signal.addEventListener('abort', () => {
        this.#watchers.delete(onEvent);
        resolve();
      });
    });
  }

  /** As after a lost connection: every watcher is told the whole list. */
  relist(): void {
    this.#tell({ kind: 'listed', sandboxes: [...this.#sandboxes.values()] });
  }

  async label(sandbox: SandboxId, owner: Owner, expiresAtMs: number): Promise<void> {
    this.#throwNext('label');
    const found = this.#sandboxes.get(sandbox);
    if (found !== undefined) this.#sandboxes.set(sandbox, { ...found, owner, expiresAtMs });
  }

  async limitations(): Promise<readonly string[]> {
    this.#throwNext('limitations');
    return this.limits;
  }

  #tell(event: ProviderEvent): void {
    for (const watcher of this.#watchers) watcher(event);
  }

  #throwNext(method: Method): void {
    const failure = this.#errors.get(method)?.shift();
    if (failure !== undefined) throw failure;
  }
}
