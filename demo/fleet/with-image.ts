import { parseDocument } from 'yaml';

/** An environment's file with another image, which brings along what were folders of this machine. */
export function withImage(text: string, image: string): string {
  const document = parseDocument(text);
  document.setIn(['sandbox', 'image'], image);
  document.deleteIn(['sandbox', 'data']);
  return document.toString();
}
