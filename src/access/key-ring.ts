import { parseKeyFile } from './key-file.ts';
import type { ApiKey } from './keys.ts';

/** The keys in force. A changed file takes effect at its next refresh; a broken one changes nothing. */
export type KeyRing = {
  keys(): readonly ApiKey[];
  /** Reads again. Throws what reading threw, or KeyFileMistakes; the old keys then stay in force. */
  refresh(): Promise<'changed' | 'unchanged'>;
};

/** A ring over a key file whose text `readText` gives. Throws like `refresh`: there is no start without good keys. */
export async function createKeyRing(readText: () => Promise<string>): Promise<KeyRing> {
  let text = await readText();
  let keys = parseKeyFile(text);
  const refresh = async (): Promise<'changed' | 'unchanged'> => {
    const newText = await readText();
    if (newText === text) return 'unchanged';
    keys = parseKeyFile(newText);
    text = newText;
    return 'changed';
  };
  return { keys: () => keys, refresh };
}

/** A ring without any key: only a development key opens anything. */
export const emptyKeyRing: KeyRing = {
  keys: () => [],
  refresh: () => Promise.resolve('unchanged'),
};
