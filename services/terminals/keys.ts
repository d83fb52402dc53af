import { ToolError } from '#services/sandboxd/helper/tools/tool-arguments.ts';

/** What the program in a terminal has asked of its keys. */
export type KeyMode = { readonly hasApplicationCursor: boolean };

/** Modifiers as tmux writes them: `C-` control, `M-` alt, `S-` shift. */
type Modifiers = { readonly control: boolean; readonly alt: boolean; readonly shift: boolean };

const escape = '\u001B';

const plain: ReadonlyMap<string, string> = new Map(
  Object.entries({
    Enter: '\r',
    Tab: '\t',
    Space: ' ',
    Escape: escape,
    BSpace: '\u007F',
    Backspace: '\u007F',
  }),
);

/** Keys whose code has a final letter, as xterm sends them. */
const lettered: ReadonlyMap<string, string> = new Map(
  Object.entries({
    Up: 'A',
    Down: 'B',
    Right: 'C',
    Left: 'D',
    Home: 'H',
    End: 'F',
  }),
);
const firstFour: ReadonlyMap<string, string> = new Map(
  Object.entries({ F1: 'P', F2: 'Q', F3: 'R', F4: 'S' }),
);

/** Keys whose code has a number. */
const numbered: ReadonlyMap<string, number> = new Map(
  Object.entries({
    Insert: 2,
    IC: 2,
    Delete: 3,
    DC: 3,
    PageUp: 5,
    PgUp: 5,
    PPage: 5,
    PageDown: 6,
    PgDn: 6,
    NPage: 6,
    F5: 15,
    F6: 17,
    F7: 18,
    F8: 19,
    F9: 20,
    F10: 21,
    F11: 23,
    F12: 24,
  }),
);

/** Names of keys with spaces in between, as tmux has them, to what a terminal sends. Throws {@link ToolError} for an unknown name. */
export function encodeKeys(names: string, mode: KeyMode): string {
  const keys = names.split(/\s+/).filter((name) => name !== '');
  return keys.map((name) => encodeKey(name, mode)).join('');
}

function encodeKey(name: string, mode: KeyMode): string {
  const { key, modifiers } = splitModifiers(name);
  const code = codeOf(key, modifiers, mode);
  if (code === null) throw new ToolError(`there is no key ${JSON.stringify(name.slice(0, 40))}; ${keyNames}`);
  return code;
}

const keyNames =
  'keys are Enter, Tab, BTab, Space, Escape, BSpace, Delete, Insert, Up, Down, Left, Right, Home, End, PageUp, PageDown, F1 to F12, ' +
  'or one character, with C- (control), M- (alt) or S- (shift) in front; write other text into `text`';

function splitModifiers(name: string): { readonly key: string; readonly modifiers: Modifiers } {
  const [, prefix = '', key = name] = /^((?:[CMS]-){0,3})(.+)$/su.exec(name) ?? [];
  const has = (letter: string) => prefix.includes(`${letter}-`);
  return { key, modifiers: { control: has('C'), alt: has('M'), shift: has('S') } };
}

function codeOf(key: string, modifiers: Modifiers, mode: KeyMode): string | null {
  if (key === 'BTab' || (key === 'Tab' && modifiers.shift)) return `${escape}[Z`;
  const text = plain.get(key) ?? (isOneCharacter(key) ? key : null);
  if (text !== null) return typed(text, modifiers);
  const number = numbered.get(key);
  if (number !== undefined) return `${escape}[${number}${suffix(modifiers)}~`;
  const letter = lettered.get(key) ?? firstFour.get(key);
  if (letter === undefined) return null;
  if (suffix(modifiers) !== '') return `${escape}[1${suffix(modifiers)}${letter}`;
  const isApplication = mode.hasApplicationCursor || firstFour.get(key) !== undefined;
  return `${escape}${isApplication ? 'O' : '['}${letter}`;
}

const isOneCharacter = (key: string): boolean => /^.$/su.test(key);

/** xterm's number of the modifiers, where there are any. */
function suffix({ control, alt, shift }: Modifiers): string {
  const sum = (shift ? 1 : 0) + (alt ? 2 : 0) + (control ? 4 : 0);
  return sum === 0 ? '' : `;${sum + 1}`;
}

function typed(text: string, { control, alt, shift }: Modifiers): string | null {
  const shifted = shift ? text.toUpperCase() : text;
  const controlled = control ? controlOf(shifted) : shifted;
  if (controlled === null) return null;
  return alt ? `${escape}${controlled}` : controlled;
}

/** Control clears the upper bits of a character from `@` to `_`; `?` is DEL, and a space NUL. */
function controlOf(text: string): string | null {
  if (text === '?') return '\u007F';
  if (text === ' ') return '\u0000';
  const code = text.toUpperCase().codePointAt(0) ?? 0;
  return code >= 0x40 && code <= 0x5f ? String.fromCodePoint(code & 0x1f) : null;
}
