import type { EnvironmentCatalog } from '../model/environment.ts';
import { FilesRead } from './files-read.ts';
import { loadPermitted, type Site } from './load-environments.ts';
import { EnvironmentMistakes } from './mistakes.ts';

/** What a look at the folder found. `mistaken` is said once for each state of the files. */
export type Seen = 'same' | 'changed' | 'mistaken';

type Loaded = { readonly catalog: EnvironmentCatalog; readonly files: FilesRead };
type Attempt = { readonly loaded: EnvironmentCatalog | Error; readonly files: FilesRead };

/**
 * A folder of environments, with the operator's policy, that is looked at again and again. A change is taken when it
 * loads and two looks in a row found it alike, so that nobody gets half of what an editor or a copy is just writing. One
 * that does not load changes nothing: the last that did stays.
 */
export class WatchedFolder {
  readonly #folder: string;
  readonly #policyFile: string | null;
  readonly #site: Site;
  #taken: Loaded;
  #attempt: Attempt | null = null;
  #mistake: Error | null = null;

  private constructor(folder: string, policyFile: string | null, site: Site, taken: Loaded) {
    this.#folder = folder;
    this.#policyFile = policyFile;
    this.#site = site;
    this.#taken = taken;
  }

  /** Throws what loading throws: a process does not start with mistakes. */
  static async open(folder: string, policyFile: string | null, site: Site = {}): Promise<WatchedFolder> {
    const files = new FilesRead();
    const catalog = await loadPermitted(folder, policyFile, { files, ...site });
    return new WatchedFolder(folder, policyFile, site, { catalog, files });
  }

  get catalog(): EnvironmentCatalog {
    return this.#taken.catalog;
  }

  /** Why what the files say now is not taken; null: it is, or they are just changing. */
  get mistake(): Error | null {
    return this.#mistake;
  }

  async look(): Promise<Seen> {
    const attempt = this.#attempt;
    if (attempt === null && (await this.#taken.files.unchanged())) return 'same';
    if (attempt === null || !(await attempt.files.unchanged())) {
      this.#attempt = await this.#load();
      return 'same';
    }
    const { loaded, files } = attempt;
    if (!(loaded instanceof Error)) return this.#take({ catalog: loaded, files });
    // What is no author's mistake, such as a disk that failed once, may be over by the next look.
    if (!(loaded instanceof EnvironmentMistakes)) this.#attempt = await this.#load();
    return this.#tell(loaded);
  }

  #take(loaded: Loaded): Seen {
    this.#taken = loaded;
    this.#attempt = null;
    this.#mistake = null;
    return 'changed';
  }

  #tell(mistake: Error): Seen {
    const isNew = this.#mistake?.message !== mistake.message;
    this.#mistake = mistake;
    return isNew ? 'mistaken' : 'same';
  }

  async #load(): Promise<Attempt> {
    const files = new FilesRead();
    const reading = { files, ...this.#site };
    const loaded = await loadPermitted(this.#folder, this.#policyFile, reading).catch(errorOf);
    return { loaded, files };
  }
}

const errorOf = (thrown: unknown): Error => (thrown instanceof Error ? thrown : new Error(String(thrown)));
