import type { Face } from '#src/model/face.ts';

/**
 * Which face a request target belongs to, however oddly it is written: full URLs, doubled slashes, capitals, escapes.
 * In doubt `rft`, whose answers are safe for everybody; the others leave no doubt, since only their own addresses have routes.
 */
export function faceOf(target: string): Face {
  const path = target.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '').replaceAll(/%2f/gi, '/');
  const letters = path.replaceAll(/%([0-9a-f]{2})/gi, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  if (/^[/.\\]*rft(?![a-z0-9_-])/i.test(letters)) return 'rft';
  return /^\/*e2b(?![a-z0-9_-])/i.test(letters) ? 'e2b' : 'native';
}
