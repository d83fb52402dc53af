import { describe } from 'vitest';
import { sendOddInputs } from './odd-inputs.ts';

describe('ten thousand inputs with the YAML of environments', () => sendOddInputs(1));
