import type { Evidence } from '../failure/failure.ts';
import type { FailureCode, LossCause } from '../failure/codes.ts';
import type { Template } from '../model/environment.ts';
import type { SandboxId, TemplateDigest } from '../model/ids.ts';
import type { Owner, SandboxAddress } from '../model/rollout.ts';

/**
 * The engine that makes machines. Everything it made can be found and removed from its own list, without our memory.
 * Errors: `Failure` with `provider_unavailable` (ask again), `start_failed`, `setup_failed` (its data cannot be made),
 * `image_unavailable`, `unschedulable`.
 */
export interface SandboxProvider {
  /** Idempotent by `sandbox`: a create whose answer was lost is adopted by sending it again. */
  create(request: CreateRequest): Promise<void>;
  /** Idempotent; resolves when the removal is accepted, `gone` follows on the watch. */
  destroy(sandbox: SandboxId): Promise<void>;
  /** Whatever was created before; a label or an end of a moment ago may not be in it yet. */
  list(): Promise<readonly ProvidedSandbox[]>;
  /**
   * Calls `onEvent` for every change until the signal aborts; reconnects by itself. Each (re)connection starts with
   * one event `listed` for everything that exists, so nothing is missed in between. Where the provider remembers how
   * sandboxes ended lately, those `gone` events come first, so a `gone` may be seen twice, and of an unknown sandbox.
   */
  watch(onEvent: (event: ProviderEvent) => void, signal: AbortSignal): Promise<void>;
  /**
   * Writes who owns the sandbox and when it may be removed where a list without our memory shows it. Of a sandbox that
   * is gone it changes nothing: the watch tells that.
   */
  label(sandbox: SandboxId, owner: Owner, expiresAtMs: number): Promise<void>;
  /** What this host cannot enforce, in sentences for a person; empty on a host that enforces everything. */
  limitations(): Promise<readonly string[]>;
}

export type CreateRequest = {
  readonly sandbox: SandboxId;
  readonly template: Template;
  /** sha256 (hex) of the sandbox's token; the token itself never leaves gateway and controller. */
  readonly tokenSha256: string;
};

export type ProvidedSandbox = {
  readonly sandbox: SandboxId;
  readonly template: TemplateDigest;
  /** `running`: its processes run; whether sandboxd answers is asked at its address. */
  readonly phase: 'starting' | 'running' | 'gone';
  readonly address: SandboxAddress | null;
  readonly createdAtMs: number;
  readonly owner: Owner | null;
  readonly expiresAtMs: number | null;
};

/** Why a sandbox will not run, as a provider knows it. */
export type StartFailureCode = Extract<
  FailureCode,
  'image_unavailable' | 'unschedulable' | 'start_failed' | 'start_timeout'
>;

/**
 *   listed        everything that exists
 *   running       its processes run; sandboxd is asked at the address
 *   gone          final
 *   cannot_start  to the process that created it, before its start timeout is over: waiting longer is no use. It is not
 *                 gone: whoever gives up the start destroys it
 *   leaving       it will not stay where it is, whether it starts or runs: a rollout on it may go on, no new one shall get it
 *   doubted       it may be lost, and the provider cannot tell: ask at its address. `cause`: what it was if nobody answers
 *   trusted       the doubt is over
 *
 * A provider that always knows never says the last four.
 */
export type ProviderEvent =
  | { readonly kind: 'listed'; readonly sandboxes: readonly ProvidedSandbox[] }
  | { readonly kind: 'running'; readonly sandbox: SandboxId; readonly address: SandboxAddress }
  | {
      readonly kind: 'gone';
      readonly sandbox: SandboxId;
      readonly cause: LossCause;
      readonly evidence: Evidence;
    }
  | {
      readonly kind: 'cannot_start';
      readonly sandbox: SandboxId;
      readonly code: StartFailureCode;
      /** In the engine's own words. */
      readonly message: string;
      readonly evidence: Evidence;
    }
  | { readonly kind: 'leaving'; readonly sandbox: SandboxId; readonly why: string }
  | {
      readonly kind: 'doubted';
      readonly sandbox: SandboxId;
      readonly address: SandboxAddress;
      readonly cause: LossCause;
      readonly evidence: Evidence;
    }
  | { readonly kind: 'trusted'; readonly sandbox: SandboxId };
