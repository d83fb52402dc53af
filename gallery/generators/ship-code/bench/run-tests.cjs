/*
 * Runs stripped test files in this process and prints what their assertions saw, a line of JSON each. It is the policy's process: what is printed is
 * compared with what the published version gives, which is nowhere in this process.
 */
const { createHash } = require('node:crypto');
const { writeSync } = require('node:fs');
const { types } = require('node:util');

const [folder, ...files] = process.argv.slice(2);
/** A longer record is compared by its digest. */
const longest = 400;
/** Nothing that tests look at has more parts; a server or a socket has. */
const mostParts = 400;

globalThis.recordSeen = (context, kind, fields, value) => {
  const key = context?.fullName ?? '';
  const say = (seen) => print(`@seen ${JSON.stringify([key, kind, shortened(JSON.stringify(seen))])}\n`);
  if (kind === 'throws' || kind === 'doesNotThrow') say(thrown(fields, value));
  else if (kind === 'rejects' || kind === 'doesNotReject') return rejected(fields, value).then(say);
  else say(kind === 'ok' ? Boolean(value) : plain(value));
};

const shortened = (text) => (text.length <= longest ? text : createHash('sha256').update(text).digest('hex'));

/** Stdout is a pipe that may be full for a moment. */
function print(text) {
  let rest = Buffer.from(text);
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(1, rest));
    } catch (error) {
      if (error.code !== 'EAGAIN') throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
    }
  }
}

function thrown(fields, act) {
  try {
    act();
    return 'nothing';
  } catch (error) {
    return errorOf(fields, error);
  }
}

const rejected = (fields, act) =>
  Promise.resolve(typeof act === 'function' ? act() : act).then(
    () => 'nothing',
    (error) => errorOf(fields, error),
  );

const errorOf = (fields, error) =>
  fields.length > 0
    ? fields.map((field) => plain(error?.[field]))
    : [plain(error?.code), plain(error?.message)];

/** What a value says, without identities: another right fix has other functions. */
function plain(value, depth = 0, room = { left: mostParts }) {
  if (room.left-- <= 0) return '[more]';
  if (typeof value === 'function') return '[function]';
  if (typeof value === 'string') return value;
  if (value === undefined || typeof value === 'bigint' || typeof value === 'symbol')
    return `[${String(value)}]`;
  if (value === null || typeof value !== 'object')
    return Object.is(value, -0) ? '[-0]' : Number.isNaN(value) ? '[NaN]' : value;
  if (depth > 6) return '[deep]';
  if (types.isNativeError(value)) return ['error', plain(value.code), value.message];
  if (value instanceof RegExp || value instanceof Date) return String(value);
  if (Array.isArray(value)) return value.map((each) => plain(each, depth + 1, room));
  const names = Object.keys(value).sort();
  return Object.fromEntries(names.map((name) => [name, plain(value[name], depth + 1, room)]));
}

for (const file of files) require(`${folder}/${file}`);
