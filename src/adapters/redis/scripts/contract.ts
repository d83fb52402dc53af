import { type Static, type TProperties, type TSchema, Type } from 'typebox';
import { Compile } from 'typebox/compile';

/**
 * What a script is asked and what it replies, both as JSON; texts of any size go beside that, raw (lib/script.lua). What is absent
 * is missing, never null: in Lua a null is a value like others. `npm run check:lua` compares the fields of `ask` with
 * those that the script reads.
 */
export function contract<Ask extends TProperties, Reply extends TSchema>(ask: Ask, reply: Reply) {
  return { ask: Type.Object(ask), reply };
}

/** For scripts whose reply says nothing, or only raw texts. */
export const Nothing = Type.Null();

/** A list in a reply: Lua has one kind of table, so an empty list leaves as `{}`. */
export const list = <Item extends TSchema>(item: Item) =>
  Type.Union([Type.Array(item), Type.Object({}, { additionalProperties: false })]);

export function itemsOf<Item>(reply: readonly Item[] | object): readonly Item[] {
  return Array.isArray(reply) ? (reply as readonly Item[]) : [];
}

export const orNothing = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Nothing]);

const compiled = new WeakMap<TSchema, { Check(value: unknown): boolean }>();

/** Scripts and schemas are written together: a reply that does not fit is a defect. Compiled at its first use, as most processes use few. */
export function checkedReply<Schema extends TSchema>(
  name: string,
  schema: Schema,
  json: string,
): Static<Schema> {
  const value: unknown = JSON.parse(json);
  let check = compiled.get(schema);
  if (check === undefined) compiled.set(schema, (check = Compile(schema)));
  if (!check.Check(value))
    throw new TypeError(`the script ${name} replied ${json.slice(0, 500)}, which its schema does not allow`);
  return value as Static<Schema>;
}
