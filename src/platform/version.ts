import own from '../../package.json' with { type: 'json' };

/** The version of Corral that this process runs. */
export const version: string = own.version;
