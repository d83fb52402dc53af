import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { DataFolder, Environment, OpenTemplate, Template } from '../model/environment.ts';
import {
  dataDigest,
  type DataDigest,
  environmentVersion,
  type EnvironmentVersion,
  templateDigest,
  type TemplateDigest,
} from '../model/ids.ts';
import type { EnvironmentYaml } from './schema/environment.ts';
import type { SandboxYaml } from './schema/sandbox.ts';

/** sha256 of everything a sandbox is created from: sandboxes of one digest are interchangeable until they are bound. */
export function digestOf(template: Omit<Template, 'digest'>): TemplateDigest {
  return templateDigest(sha256(template));
}

/**
 * sha256 of everything that decides what a build of data leaves: the command, and of each input its name and what it
 * holds. Where it lies is nobody's business, nor who asks. `kind` is another where the way of building becomes another.
 */
export function dataDigestOf(
  argv: readonly string[],
  inputs: readonly { readonly name: string; readonly digest: string }[],
): DataDigest {
  return dataDigest(sha256({ kind: 'data 1', argv, inputs }));
}

/**
 * sha256 of everything a result can depend on: the file with its defaults filled in and the graders' files read.
 * Folders count as they are written, so that the version is the same on every machine. The pool is left out: an
 * operator who resizes it must not end the runs that pinned this version.
 */
export function versionOf(
  environment: Omit<Environment, 'version'>,
  { sandbox, grader_sandbox }: EnvironmentYaml,
): EnvironmentVersion {
  const { template, graderTemplate } = environment;
  const graders = graderTemplate && { graderTemplate: asWritten(graderTemplate, grader_sandbox ?? sandbox) };
  return environmentVersion(
    sha256({ ...environment, template: asWritten(template, sandbox), ...graders, pool: null }),
  );
}

const asWritten = (template: Template | OpenTemplate, { image, data = [] }: SandboxYaml) => ({
  ...template,
  digest: undefined,
  image,
  ...configOf(template),
  data: data.map((written, index) => withDigest(written, template.data[index])),
});

/** Beside a folder as it is written, what its image says of processes; absent where it says nothing, as it always was. */
const configOf = ({ image }: Template | OpenTemplate): { readonly imageConfig?: string } =>
  image.kind === 'rootfs' && image.config !== undefined ? { imageConfig: image.config } : {};

/** What a program makes counts as it is written and by its digest. */
const withDigest = (written: object, folder: DataFolder | undefined): object =>
  folder !== undefined && 'build' in folder ? { ...written, digest: folder.build.digest } : written;

/**
 * sha256 of everything that a folder of environments says, so that processes can tell whether they have read the same.
 * With the pools, which no version has: an operator who resizes one wants it in force.
 */
export function catalogDigest(environments: readonly Environment[]): string {
  const said = environments.map(({ name, version, pool }) => ({ name, version, pool }));
  return sha256(said.toSorted((a, b) => (a.name < b.name ? -1 : 1)));
}

export const textDigest = (text: string): string => createHash('sha256').update(text, 'utf8').digest('hex');

const sha256 = (value: unknown): string => textDigest(canonicalize(value) ?? '');
