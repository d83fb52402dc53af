import canonicalize from 'canonicalize';
import type { ErrorObject } from 'ajv';
import type { Tool } from '../model/environment.ts';
import type { Json } from '../model/grader.ts';
import type { Written } from '../model/written.ts';
import { compileSchema, type SchemaCheck } from './parameter-schema.ts';
import { createHash } from 'node:crypto';

export type ToolArguments = { readonly [key: string]: Json };

export type Arguments =
  | { readonly ok: true; readonly value: ToolArguments }
  /** The model's failure; `reason` completes the sentence "bad arguments: …". */
  | { readonly ok: false; readonly reason: string };

/** Deeper than any tool's schema is; it bounds what walks the value after this. */
const maxDepth = 32;
/** More values than any call of a tool has; it bounds what checking them costs, by rules that compare each with each. */
const maxValues = 10_000;
/** One megabyte is the platforms' own bound; a little more, so that arguments at the bound pass with their escapes. */
export const mostArgumentBytes = 1024 * 1024 + 64 * 1024;

/**
 * The arguments object of a call, from JSON text or as it came. Models write nothing or null for a tool without arguments, so
 * both are the empty object. Never throws: anything else that is no object is the model's failure. Half characters (lone surrogates) become U+FFFD, as they would on the way into any command.
 */
export function parseArguments(raw: Json): Arguments {
  const value = (typeof raw === 'string' ? fromText(raw) : raw) ?? {};
  if (value instanceof SyntaxError) return bad(`they are not valid JSON: ${value.message}`);
  if (!isObject(value)) return bad('they must be a JSON object');
  const trouble = troubleIn(value);
  return trouble === null ? { ok: true, value: wellFormedObject(value) } : bad(trouble);
}

/** The same of arguments that were too long to be kept, too. */
export function argumentsOf(written: Written): Arguments {
  if (typeof written === 'string') return parseArguments(written);
  return bad(`they are too long: ${written.tooLongBytes} bytes, and ${mostArgumentBytes} are the most`);
}

const bad = (reason: string): Arguments => ({ ok: false, reason });

function fromText(text: string): Json | SyntaxError {
  if (text.trim() === '') return {};
  try {
    return JSON.parse(text) as Json;
  } catch (error) {
    if (error instanceof SyntaxError) return error;
    throw error;
  }
}

function isObject(value: Json): value is ToolArguments {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** As many as `troubleIn` has let pass. */
function countValues(value: Json): number {
  return valuesIn(value).reduce((count: number, below) => count + countValues(below), 1);
}

/** Walks level by level rather than by recursion: the depth is what is in doubt. Stops at the first value too many. */
function troubleIn(object: ToolArguments): string | null {
  let level: readonly Json[] = [object];
  let values = 1;
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > maxDepth) return `they are nested deeper than ${maxDepth} levels`;
    // 1e999 is JSON, and read as infinity, which no JSON can say.
    if (level.some((each) => typeof each === 'number' && !Number.isFinite(each))) {
      return 'a number in them is too large';
    }
    const next: Json[] = [];
    for (const each of level) {
      const below = valuesIn(each);
      values += below.length;
      if (values > maxValues) return `they hold more than ${maxValues} values`;
      next.push(...below);
    }
    level = next;
  }
  return null;
}

function valuesIn(value: Json): readonly Json[] {
  if (typeof value !== 'object' || value === null) return [];
  return Array.isArray(value) ? (value as readonly Json[]) : Object.values(value);
}

function wellFormed(value: Json): Json {
  if (typeof value === 'string') return value.toWellFormed();
  if (Array.isArray(value)) return value.map(wellFormed);
  return isObject(value) ? wellFormedObject(value) : value;
}

function wellFormedObject(value: ToolArguments): ToolArguments {
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [key.toWellFormed(), wellFormed(each)]),
  );
}

/** One compiled check for each tool of a loaded environment; it goes when the environment does. */
const compiled = new WeakMap<Tool, SchemaCheck>();

/** More mistakes than this at once teach nobody anything. */
const maxReasons = 3;

/** The arguments again when they fit the tool's schema, else what is wrong with them, for the model. Never throws. */
export function checkArguments(tool: Tool, args: ToolArguments): Arguments {
  const reason = mistakesIn(tool, args) ?? nulIn(tool, args);
  return reason === null ? { ok: true, value: args } : { ok: false, reason };
}

function mistakesIn(tool: Tool, args: ToolArguments): string | null {
  const mistakes = checkOf(tool)(args, countValues(args));
  if (mistakes === null) return null;
  if (mistakes === 'patterns on too much text') return 'a text in them that must match a pattern is too long';
  if (mistakes === 'too many steps') return 'there is too much in them to check against the parameters';
  const reasons = new Set<string>();
  for (const mistake of mistakes) {
    reasons.add(reasonOf(mistake));
    if (reasons.size === maxReasons) break;
  }
  return [...reasons].join('; ');
}

/** No program can be given a NUL among its arguments; the built-in tools take text in a body and can. */
function nulIn(tool: Tool, args: ToolArguments): string | null {
  if (tool.run.kind !== 'command') return null;
  const name = Object.keys(args).find((each) => JSON.stringify(args[each]).includes(String.raw`\u0000`));
  return name === undefined ? null : `${name} must not contain a NUL character`;
}

function checkOf(tool: Tool): SchemaCheck {
  const known = compiled.get(tool);
  if (known !== undefined) return known;
  const check = compileSchema(tool.parameters);
  compiled.set(tool, check);
  return check;
}

function reasonOf(error: ErrorObject): string {
  const where = error.instancePath.slice(1).replaceAll('/', '.');
  const params: Readonly<Record<string, unknown>> = error.params;
  switch (error.keyword) {
    case 'required':
      return `${dotted(where, params['missingProperty'])} is missing`;
    case 'additionalProperties':
      return `${dotted(where, params['additionalProperty'])} is not a parameter of this tool`;
    case 'enum':
      return `${where} must be one of ${listed(params['allowedValues'] as readonly Json[])}`;
    default:
      return `${where === '' ? 'the arguments' : where} ${error.message ?? 'do not fit'}`;
  }
}

const mostListed = 20;

/** As many as a model needs to see what is meant. */
function listed(values: readonly Json[]): string {
  const more = values.length - mostListed;
  const shown = JSON.stringify(values.slice(0, mostListed));
  return more > 0 ? `${shown.slice(0, -1)}, and ${more} more]` : shown;
}

function dotted(where: string, name: unknown): string {
  return where === '' ? String(name) : `${where}.${String(name)}`;
}

/**
 * What makes two calls the same: sha256 (hex) of the tool's name and its canonical arguments, so that neither key
 * order nor the choice of text or object makes a difference. Text that is no arguments object counts as it is. `parsed`
 * is given where they were parsed before.
 */
export function callDigest(name: string, args: Json, parsed: Arguments = parseArguments(args)): string {
  // A name holds no line end, so no two pairs give the same bytes.
  return createHash('sha256')
    .update(`${name}\n${canonicalText(args, parsed)}`, 'utf8')
    .digest('hex');
}

function canonicalText(args: Json, parsed: Arguments): string {
  if (parsed.ok) return canonicalize(parsed.value) ?? '';
  if (typeof args === 'string') return args;
  // A list or a number. What is nested too deeply to be taken even here all counts as one: nothing runs for it.
  const inside = parseArguments({ '': args });
  return inside.ok ? (canonicalize(inside.value) ?? '') : '';
}
