/** What a terminal shows, as far as the demo and `corral top` use it: lines, colors, and a cursor that moves up or home. */
export type Cell = { readonly letter: string; readonly color: number };
export type Row = readonly Cell[];

const blank: Cell = { letter: ' ', color: 0 };
const escape = '\u001B';
const order = new RegExp(`${escape}\\[([?\\d;]*)([A-Za-z])`, 'y');

const begun = new RegExp(`^${escape}(?:$|\\[[?\\d;]*$)`);
const isBegun = (text: string) => begun.test(text);

/** Keeps every written line, also lines that have left the screen. */
export class Screen {
  readonly rows: Cell[][] = [[]];
  #row = 0;
  #column = 0;
  #color = 0;
  /** An order whose end comes with the next output. */
  #rest = '';
  /** Orders that a program gives when it leaves the whole screen; what follows is not its picture. */
  hasLeft = false;

  write(output: string): void {
    const text = this.#rest + output;
    this.#rest = '';
    for (let at = 0; at < text.length && !this.hasLeft;) {
      order.lastIndex = at;
      const found = order.exec(text);
      if (found !== null) this.#obey(found[1] ?? '', found[2] ?? '');
      if (found === null && isBegun(text.slice(at))) {
        this.#rest = text.slice(at);
        return;
      }
      const letter = String.fromCodePoint(text.codePointAt(at) ?? 0);
      if (found === null) this.#put(letter);
      at += found === null ? letter.length : found[0].length;
    }
  }

  /** The rows as they are now. */
  copy(): readonly Row[] {
    return this.rows.map((row) => [...row]);
  }

  #put(letter: string): void {
    if (letter === '\r') this.#column = 0;
    else if (letter === '\n') this.#goTo(this.#row + 1);
    else if (letter < ' ')
      throw new RangeError(`a recording has the unknown control ${JSON.stringify(letter)}`);
    else {
      const row = this.rows[this.#row] ?? [];
      while (row.length < this.#column) row.push(blank);
      row[this.#column] = { letter, color: this.#color };
      this.#column += 1;
    }
  }

  #goTo(row: number): void {
    this.#row = Math.max(0, row);
    while (this.rows.length <= this.#row) this.rows.push([]);
  }

  #obey(parameters: string, name: string): void {
    const count = Number(parameters) || 0;
    if (name === 'A') this.#goTo(this.#row - (count || 1));
    else if (name === 'H') [this.#row, this.#column] = [0, 0];
    else if (name === 'K') this.#clearLine(count === 2 ? 0 : this.#column);
    else if (name === 'J') this.rows.splice(this.#row + 1);
    else if (name === 'm') this.#color = count;
    else if (name === 'l' && parameters === '?1049') this.hasLeft = true;
    else if (!'hl'.includes(name))
      throw new RangeError(`a recording has the unknown order ${parameters}${name}`);
  }

  #clearLine(from: number): void {
    this.rows[this.#row]?.splice(from);
  }
}
