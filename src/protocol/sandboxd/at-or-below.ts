/** Whether the path is the folder itself or below it. Both are whole, and the folder does not end with a slash. */
export const isAtOrBelow = (path: string, folder: string): boolean =>
  path === folder || path.startsWith(`${folder}/`);
