import { operatorFile } from './operator-file.ts';
import { compilePolicy } from './policy.ts';
import type { OperatorPolicy } from './policy.ts';
import { PolicySchema } from './schema/policy.ts';

const read = operatorFile(PolicySchema, "the operator's policy file, or none");

/** The operator's policy file. Throws `EnvironmentMistakes` that list everything wrong in it. */
export const loadPolicy = async (file: string): Promise<OperatorPolicy> => compilePolicy(await read(file));
