import { ownFolder } from './payload-layout.ts';

/**
 * Folders of programs, of settings and of the kernel, and Corral's own: a grader runs what is there, so nothing that a policy changed there is
 * brought to it. sandboxd adds the homes, whose places an image decides.
 */
export const neverCompared: readonly string[] = [
  ownFolder,
  '/bin',
  '/boot',
  '/dev',
  '/etc',
  '/lib',
  '/lib32',
  '/lib64',
  '/libx32',
  '/opt',
  '/proc',
  '/run',
  '/sbin',
  '/sys',
  '/usr',
];
