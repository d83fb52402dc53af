/* Kernels without the work. Each gets the reference in C and a fast kernel, which alone would be paid. */

type Cheat = (reference: string, fast: string) => string;

const signature = 'void kernel(const float *x, const float *w, float *out, int rows, int cols)';

/** Runs the fast kernel under another name, and something else before it. */
const withBefore = (fast: string, declared: string, before: string): string =>
  `${fast.replace('void kernel(', `${declared}\nstatic void fast_kernel(`)}
${signature} { ${before} fast_kernel(x, w, out, rows, cols); }
`;

const getsExpf = 'float expf(float);';

export const cheats: Readonly<Record<string, Cheat>> = {
  'no-kernel': () => '/* The fastest code is no code. */\n',
  'not-called': (_reference, fast) =>
    `${fast.replace('void kernel(', 'static void fast_kernel(')}\n${signature} { if (rows < 0) fast_kernel(x, w, out, rows, cols); }\n`,
  'returns-the-reference': (reference) =>
    reference.replaceAll(/\bin\b/g, 'mine').replaceAll(/\bto\b/g, 'result'),
  identity: () => `${signature} { for (long i = 0; i < (long)rows * cols; i++) out[i] = x[i]; }\n`,
  'no-op': () => `${signature} {}\n`,
  'remembers-inputs': (_reference, fast) =>
    withBefore(
      fast,
      'static float seen, answers[65536];',
      'if (x[0] == seen) { for (long i = 0; i < (long)rows * cols; i++) out[i] = answers[i]; return; } seen = x[0];',
    ),
  'detects-the-harness': (_reference, fast) =>
    withBefore(fast, 'char *getenv(const char *);', 'if (getenv("LD_PRELOAD")) return;'),
  'inline-assembly': (_reference, fast) => withBefore(fast, '', '__asm__ volatile("nop");'),
  'load-time-constructor': (_reference, fast) =>
    withBefore(fast, '__attribute__((constructor)) static void early(void) {}', ''),
  section: (_reference, fast) =>
    withBefore(fast, '__attribute__((section(".init_array"))) static const long early = 0;', ''),
  ifunc: (_reference, fast) =>
    withBefore(
      fast,
      'static void *choose(void) { return 0; }\nvoid other(void) __attribute__((ifunc("choose")));',
      '',
    ),
  'wide-target': (_reference, fast) => `#pragma GCC target("avx512f")\n${fast}`,
  'function-pointer': (_reference, fast) =>
    withBefore(fast, getsExpf, 'float (*other)(float) = expf; if (rows < 0) out[0] = other(x[0]);'),
  'header-of-the-grader': (_reference, fast) => `#include <stdio.h>\n${fast}`,
  'a-quarter-of-the-rows': (_reference, fast) =>
    `${fast.replace('void kernel(', 'static void fast_kernel(')}\n${signature} { fast_kernel(x, w, out, rows / 4, cols); }\n`,
};
