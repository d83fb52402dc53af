import { type TObjectOptions, type TProperties, Type } from 'typebox';
import { bytesPattern, cpuPattern, durationPattern } from '../quantities.ts';

/*
 * Pieces of the schemas of YAML files. Every `description` completes the sentence "must be …" that an author reads.
 */

/** An object that admits no other field: a mistyped name must not be a silent default. */
export const strict = <Properties extends TProperties>(
  properties: Properties,
  options: TObjectOptions = {},
) => Type.Object(properties, { ...options, additionalProperties: false });

export const Duration = Type.String({
  pattern: durationPattern,
  description: 'a duration such as 500ms, 60s, 30m or 2h',
});

const cpuWords = 'cores such as 100m, 0.5 or 2';
export const Cpu = Type.Union([Type.String({ pattern: cpuPattern }), Type.Number({ exclusiveMinimum: 0 })], {
  description: cpuWords,
});

const bytesWords = 'an amount of bytes such as 512Mi, 1Gi or 65536';
export const Bytes = Type.Union([Type.String({ pattern: bytesPattern }), Type.Integer({ minimum: 1 })], {
  description: bytesWords,
});

/** A field of the dataset row. */
export const fromItem = (description: string) =>
  Type.String({ pattern: '^item\\.[A-Za-z_][A-Za-z0-9_-]*$', description });

const Demand = Type.Optional(fromItem('the field of the row that has what its task demands: item.memory'));
const shareWords = 'or {request, limit} of those, with from: item.FIELD if rows demand more';

export const CpuShare = Type.Union([Cpu, strict({ request: Cpu, limit: Cpu, from: Demand })], {
  description: `${cpuWords}, ${shareWords}`,
});

export const MemoryShare = Type.Union([Bytes, strict({ request: Bytes, limit: Bytes, from: Demand })], {
  description: `${bytesWords}, ${shareWords}`,
});

/** An amount that no machine is asked for in advance. */
export const BytesUpTo = Type.Union([Bytes, strict({ limit: Bytes, from: Demand })], {
  description: `${bytesWords}, or {limit, from: item.FIELD} if rows demand more`,
});

export const Count = Type.Integer({ minimum: 0, description: 'a whole number from 0' });

export const Argv = Type.Array(Type.String(), {
  minItems: 1,
  description: 'a program and its arguments, each an element of a list: ["git", "status"]',
});

export const Name = Type.String({
  pattern: '^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$',
  description: 'lower-case letters, digits and dashes, at most 63: it stands in URLs and labels',
});

/** As Kubernetes has them: keys of labels and taints with an optional prefix, and values that may be empty. */
const word = '[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?';
const prefix = String.raw`(?:[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?\/)?`;

export const labelKeyPattern = `^${prefix}${word}$`;

export const LabelKey = Type.String({
  pattern: labelKeyPattern,
  description: 'a label key such as pool or example.com/pool',
});

export const LabelValue = Type.String({
  pattern: `^(?:${word})?$`,
  description: 'a text of at most 63 letters, digits, _, - and dots',
});

export const AbsolutePath = Type.String({ pattern: '^/.', description: 'an absolute path in the sandbox' });

/** Of commands; ours are kept apart by their prefix. */
export const CommandVariables = Type.Record(
  Type.String({ pattern: '^(?!CORRAL_)[A-Za-z_][A-Za-z0-9_]*$' }),
  Type.String(),
  {
    additionalProperties: false,
    title: 'variables are letters, digits and _, and CORRAL_… are ours',
    description: 'variables by name, all texts: {LANG: C.UTF-8}',
  },
);
