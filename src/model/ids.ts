export type TenantId = Brand<string, 'TenantId'>;
export type RunId = Brand<string, 'RunId'>;
/** The trainer's own id of one attempt at one task; `trace_id` on the RFT face. */
export type RolloutId = Brand<string, 'RolloutId'>;
export type CallId = Brand<string, 'CallId'>;
export type SandboxId = Brand<string, 'SandboxId'>;
/** Which life of a sandbox answers: random, made by sandboxd when it starts, part of every answer. */
export type BootId = Brand<string, 'BootId'>;
export type EnvironmentName = Brand<string, 'EnvironmentName'>;
/** sha256 (hex) of an environment's YAML, files and resolved image. */
export type EnvironmentVersion = Brand<string, 'EnvironmentVersion'>;
/** sha256 (hex) of everything a sandbox is created from. */
export type TemplateDigest = Brand<string, 'TemplateDigest'>;
/** sha256 (hex) of everything that decides what a build of data leaves. */
export type DataDigest = Brand<string, 'DataDigest'>;
/** Which task a rollout attempts: the item's `id`, else a hash of its canonical JSON. */
export type ItemKey = Brand<string, 'ItemKey'>;

/** Length at which an id from outside is refused: it becomes part of Redis keys and log lines. */
const maxIdLength = 256;

// Printable ASCII without spaces: what trainers send (`trace_…`, uuids, paths), and safe in keys and logs.
const idPattern = /^[\x21-\x7e]+$/;

/** In an address these name a folder, and clients resolve them before they send the request. */
const dotSegments: ReadonlySet<string> = new Set(['.', '..']);

/** Whether text from outside may serve as an id of a tenant, run, rollout or call. */
export function isIdText(text: string): boolean {
  return text.length <= maxIdLength && idPattern.test(text) && !dotSegments.has(text);
}

/** What {@link isIdText} asks of an id, for errors: `the run name must be …`. */
export const idRule = '1 to 256 printable characters without spaces, and not . or ..';

/** Whether text may be an API key's public id. No underscore: it separates the parts of what is presented. */
export function isKeyId(text: string): boolean {
  return /^[a-z0-9][a-z0-9-]{0,39}$/.test(text);
}

export const tenantId = (text: string): TenantId => text as TenantId;
export const runId = (text: string): RunId => text as RunId;
export const rolloutId = (text: string): RolloutId => text as RolloutId;
export const callId = (text: string): CallId => text as CallId;
export const sandboxId = (text: string): SandboxId => text as SandboxId;
export const bootId = (text: string): BootId => text as BootId;
export const environmentName = (text: string): EnvironmentName => text as EnvironmentName;
export const environmentVersion = (text: string): EnvironmentVersion => text as EnvironmentVersion;
export const templateDigest = (text: string): TemplateDigest => text as TemplateDigest;
export const dataDigest = (text: string): DataDigest => text as DataDigest;
export const itemKey = (text: string): ItemKey => text as ItemKey;

/** A value that only its own constructor can make, so that two kinds of string cannot be swapped. */
export type Brand<Value, Name extends string> = Value & { readonly __brand: Name };
