/** How sandboxd is told of its template's folders: their paths have no colon. */
const name = 'CORRAL_FOLDERS';

/** For sandboxd's environment; nothing where there are none. */
export function foldersVariable({ folders = [] }: { readonly folders?: readonly string[] }): {
  readonly [name]?: string;
} {
  return folders.length === 0 ? {} : { [name]: folders.join(':') };
}

export function foldersIn(env: Readonly<Record<string, string | undefined>>): readonly string[] {
  return (env[name] ?? '').split(':').filter((folder) => folder !== '');
}
