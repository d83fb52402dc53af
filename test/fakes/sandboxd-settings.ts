/** The least that sandboxd's `readConfig` needs; a test adds what it is about. */
export const sandboxdSettings = {
  CORRAL_SANDBOX_ID: 's',
  CORRAL_TOKEN_SHA256: '0'.repeat(64),
  CORRAL_LISTEN: 'unix:/nowhere',
} as const;
