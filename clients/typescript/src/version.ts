/** A test compares it with package.json. Every request names it. */
export const version = '0.2.0';
export const userAgent = `corral-typescript/${version}`;
