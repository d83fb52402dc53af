import { describe } from 'vitest';
import { sendOddInputs } from './odd-inputs.ts';

describe('two thousand inputs with the YAML of environments', () => sendOddInputs(0.2));
