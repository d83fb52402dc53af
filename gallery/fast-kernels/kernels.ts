/* What the scripts write: the same operations in C with more and more skill. */

export type Skill = 'hoisted' | 'tuned' | 'expert';

const head = `float expf(float);
float sqrtf(float);
float fabsf(float);
`;

const loop = (before: string, row: string) => `${head}${before}
void kernel(const float *restrict x, const float *restrict w, float *restrict out, int rows, int cols) {
  for (int r = 0; r < rows; r++) {
    const float *restrict in = x + (long)r * cols;
    float *restrict to = out + (long)r * cols;
${row}
  }
}
`;

/** e to the x by a polynomial between powers of two, in a form that compilers turn into vectors. */
const simpleExp = `
static inline float fast_exp(float x) {
  x = x < -80.0f ? -80.0f : x;
  x = x > 80.0f ? 80.0f : x;
  float t = x * 1.44269504f;
  int n = (int)(t + 128.5f) - 128;
  float f = (t - (float)n) * 0.69314718f;
  float p = 1.0f + f * (1.0f + f * (0.5f + f * (0.16666667f + f * (0.041666668f + f * 0.0083333f))));
  int bits = (n + 127) << 23;
  float scale;
  __builtin_memcpy(&scale, &bits, sizeof scale);
  return p * scale;
}
`;

const vectors = `
typedef float v8 __attribute__((vector_size(32), aligned(4), may_alias));
typedef int i8 __attribute__((vector_size(32)));
static inline v8 load(const float *at) { return *(const v8 *)at; }
static inline void store(float *at, v8 value) { *(v8 *)at = value; }
static inline float sum8(v8 v) { return ((v[0] + v[4]) + (v[1] + v[5])) + ((v[2] + v[6]) + (v[3] + v[7])); }
static inline v8 exp8(v8 x) {
  v8 t = x * 1.44269504f + 12582912.0f;
  v8 n = t - 12582912.0f;
  v8 f = x - n * 0.69314718f;
  v8 p = 0.041666668f * f + 0.16666667f;
  p = p * f + 0.5f;
  p = p * f + 1.0f;
  p = p * f + 1.0f;
  return (v8)((i8)p + ((i8)t << 23));
}
static inline v8 inverse8(v8 x) {
  v8 y = __builtin_ia32_rcpps256(x);
  return y * (2.0f - x * y);
}
`;

const simd = (body: string, reduction = '') => `    _Pragma("omp simd${reduction}")
    for (int c = 0; c < cols; c++) ${body}`;

/** A loop over eight columns at a time, and the rest one by one. */
const eights = (vector: string, rest: string) => `    {
      int c = 0;
      for (; c + 8 <= cols; c += 8) { ${vector} }
      for (; c < cols; c++) { ${rest} }
    }`;

const lines = (...all: readonly string[]) => all.join('\n');

export const kernels: Readonly<Record<string, Readonly<Record<Skill, string>>>> = {
  softmax: {
    hoisted: loop(
      '',
      lines(
        '    float total = 0;',
        '    for (int c = 0; c < cols; c++) { to[c] = expf(in[c] * w[c]); total += to[c]; }',
        '    for (int c = 0; c < cols; c++) to[c] /= total;',
      ),
    ),
    tuned: loop(
      simpleExp,
      lines(
        '    float total = 0;',
        simd('{ to[c] = fast_exp(in[c] * w[c]); total += to[c]; }', ' reduction(+:total)'),
        '    float by = 1 / total;',
        simd('to[c] *= by;'),
      ),
    ),
    expert: loop(
      simpleExp + vectors,
      lines(
        '    v8 totals = {0};',
        '    float total = 0;',
        eights(
          'v8 p = exp8(load(in + c) * load(w + c)); totals += p; store(to + c, p);',
          'to[c] = fast_exp(in[c] * w[c]); total += to[c];',
        ),
        '    float by = 1 / (total + sum8(totals));',
        eights('store(to + c, load(to + c) * by);', 'to[c] *= by;'),
      ),
    ),
  },
  layer_norm: {
    hoisted: loop(
      '',
      lines(
        '    float mean = 0, variance = 0;',
        '    for (int c = 0; c < cols; c++) mean += in[c];',
        '    mean /= cols;',
        '    for (int c = 0; c < cols; c++) variance += (in[c] - mean) * (in[c] - mean);',
        '    float scale = sqrtf(variance / cols + 1e-5f);',
        '    for (int c = 0; c < cols; c++) to[c] = w[c] * (in[c] - mean) / scale;',
      ),
    ),
    tuned: loop(
      '',
      lines(
        '    float mean = 0, variance = 0;',
        simd('mean += in[c];', ' reduction(+:mean)'),
        '    mean /= cols;',
        simd('variance += (in[c] - mean) * (in[c] - mean);', ' reduction(+:variance)'),
        '    float by = 1 / sqrtf(variance / cols + 1e-5f);',
        simd('to[c] = w[c] * (in[c] - mean) * by;'),
      ),
    ),
    expert: loop(
      vectors,
      lines(
        '    v8 sums = {0}, squares = {0};',
        '    float sum = 0, square = 0;',
        eights('v8 a = load(in + c); sums += a; squares += a * a;', 'sum += in[c]; square += in[c] * in[c];'),
        '    float mean = (sum + sum8(sums)) / cols;',
        '    float by = 1 / sqrtf((square + sum8(squares)) / cols - mean * mean + 1e-5f);',
        '    float less = mean * by;',
        eights(
          'store(to + c, load(w + c) * (load(in + c) * by - less));',
          'to[c] = w[c] * (in[c] * by - less);',
        ),
      ),
    ),
  },
  gelu_bias: {
    hoisted: loop(
      '',
      '    for (int c = 0; c < cols; c++) { float v = in[c] + w[c]; to[c] = v / (1 + expf(-1.702f * v)); }',
    ),
    tuned: loop(simpleExp, simd('{ float v = in[c] + w[c]; to[c] = v / (1 + fast_exp(-1.702f * v)); }')),
    expert: loop(
      simpleExp + vectors,
      eights(
        'v8 v = load(in + c) + load(w + c); store(to + c, v * inverse8(1 + exp8(-1.702f * v)));',
        'float v = in[c] + w[c]; to[c] = v / (1 + fast_exp(-1.702f * v));',
      ),
    ),
  },
  scale_max: {
    hoisted: loop(
      '',
      lines(
        '    float most = 0;',
        '    for (int c = 0; c < cols; c++) { float v = fabsf(in[c] * w[c]); if (v > most) most = v; }',
        '    for (int c = 0; c < cols; c++) to[c] = in[c] * w[c] / (1e-5f + most);',
      ),
    ),
    tuned: loop(
      '',
      lines(
        '    float most = 0;',
        simd('{ float v = fabsf(in[c] * w[c]); most = v > most ? v : most; }', ' reduction(max:most)'),
        '    float by = 1 / (1e-5f + most);',
        simd('to[c] = in[c] * w[c] * by;'),
      ),
    ),
    expert: loop(
      vectors,
      lines(
        '    v8 high = {0}, low = {0};',
        '    float most = 0;',
        eights(
          'v8 v = load(in + c) * load(w + c); high = __builtin_ia32_maxps256(high, v); low = __builtin_ia32_minps256(low, v); store(to + c, v);',
          'float v = in[c] * w[c]; to[c] = v; v = fabsf(v); if (v > most) most = v;',
        ),
        '    high = __builtin_ia32_maxps256(high, -low);',
        '    for (int i = 0; i < 8; i++) if (high[i] > most) most = high[i];',
        '    float by = 1 / (1e-5f + most);',
        eights('store(to + c, load(to + c) * by);', 'to[c] *= by;'),
      ),
    ),
  },
  rms_norm: {
    hoisted: loop(
      '',
      lines(
        '    float total = 0;',
        '    for (int c = 0; c < cols; c++) total += in[c] * in[c];',
        '    float scale = sqrtf(1e-5f + total / cols);',
        '    for (int c = 0; c < cols; c++) to[c] = in[c] * w[c] / scale;',
      ),
    ),
    tuned: loop(
      '',
      lines(
        '    float total = 0;',
        simd('total += in[c] * in[c];', ' reduction(+:total)'),
        '    float by = 1 / sqrtf(1e-5f + total / cols);',
        simd('to[c] = in[c] * w[c] * by;'),
      ),
    ),
    expert: loop(
      vectors,
      lines(
        '    v8 one = {0}, two = {0}, three = {0}, four = {0};',
        '    float total = 0;',
        '    int from = 0;',
        '    for (; from + 32 <= cols; from += 32) {',
        '      v8 a = load(in + from), b = load(in + from + 8), c = load(in + from + 16), d = load(in + from + 24);',
        '      one += a * a; two += b * b; three += c * c; four += d * d;',
        '    }',
        '    for (; from < cols; from++) total += in[from] * in[from];',
        '    float by = 1 / sqrtf(1e-5f + (total + sum8(one + two + (three + four))) / cols);',
        '    int k = 0;',
        '    for (; k + 32 <= cols; k += 32) {',
        '      store(to + k, load(in + k) * load(w + k) * by); store(to + k + 8, load(in + k + 8) * load(w + k + 8) * by);',
        '      store(to + k + 16, load(in + k + 16) * load(w + k + 16) * by); store(to + k + 24, load(in + k + 24) * load(w + k + 24) * by);',
        '    }',
        '    for (; k < cols; k++) to[k] = in[k] * w[k] * by;',
      ),
    ),
  },
  silu_gate: {
    hoisted: loop('', '    for (int c = 0; c < cols; c++) to[c] = w[c] * in[c] / (1 + expf(-in[c]));'),
    tuned: loop(simpleExp, simd('to[c] = w[c] * in[c] / (1 + fast_exp(-in[c]));')),
    expert: loop(
      simpleExp + vectors,
      eights(
        'v8 v = load(in + c); store(to + c, load(w + c) * v * inverse8(1 + exp8(-v)));',
        'to[c] = w[c] * in[c] / (1 + fast_exp(-in[c]));',
      ),
    ),
  },
};
