/* The operations, each as people write it first: a loop in C, and the same in double precision to compare with. */

export type Operation = {
  readonly name: string;
  readonly split: 'train' | 'eval';
  readonly formula: string;
  /** How many times as fast as the reference in C a kernel is that scores 1. */
  readonly fullSpeedup: number;
  /** One row of the result. */
  readonly row: (x: readonly number[], w: readonly number[]) => readonly number[];
  /** The body of the loop over rows, with `in`, `w`, `to` and `cols`. */
  readonly naiveRow: string;
};

const sum = (values: readonly number[]): number => values.reduce((total, each) => total + each, 0);
const mean = (values: readonly number[]): number => sum(values) / values.length;
const at = (values: readonly number[], index: number): number => values[index] ?? 0;

const epsilon = 1e-5;

export const operations: readonly Operation[] = [
  {
    name: 'softmax',
    split: 'train',
    formula: 'out[r][c] = exp(x[r][c] * w[c]) / sum over c of exp(x[r][c] * w[c])',
    fullSpeedup: 18.5,
    row: (x, w) => {
      const powers = x.map((each, column) => Math.exp(each * at(w, column)));
      return powers.map((each) => each / sum(powers));
    },
    naiveRow: `
    double total = 0;
    for (int c = 0; c < cols; c++) total += expf(in[c] * w[c]);
    for (int c = 0; c < cols; c++) to[c] = expf(in[c] * w[c]) / total;`,
  },
  {
    name: 'layer_norm',
    split: 'train',
    formula: 'out[r][c] = w[c] * (x[r][c] - mean) / sqrt(variance + 1e-5), mean and variance over the row',
    fullSpeedup: 5.8,
    row: (x, w) => {
      const middle = mean(x);
      const variance = mean(x.map((each) => (each - middle) ** 2));
      return x.map((each, column) => (at(w, column) * (each - middle)) / Math.sqrt(variance + epsilon));
    },
    naiveRow: `
    double mean = 0, variance = 0;
    for (int c = 0; c < cols; c++) mean += (double)in[c] / cols;
    for (int c = 0; c < cols; c++) variance += (in[c] - mean) * (in[c] - mean) / cols;
    for (int c = 0; c < cols; c++) to[c] = w[c] * (in[c] - mean) / sqrtf(variance + 1e-5);`,
  },
  {
    name: 'gelu_bias',
    split: 'train',
    formula: 'out[r][c] = v / (1 + exp(-1.702 * v)) with v = x[r][c] + w[c]',
    fullSpeedup: 15.6,
    row: (x, w) =>
      x.map((each, column) => {
        const value = each + at(w, column);
        return value / (1 + Math.exp(-1.702 * value));
      }),
    naiveRow: `
    for (int c = 0; c < cols; c++) to[c] = (in[c] + w[c]) / (1.0 + exp(-1.702 * (in[c] + w[c])));`,
  },
  {
    name: 'scale_max',
    split: 'train',
    formula: 'out[r][c] = x[r][c] * w[c] / (1e-5 + the greatest |x[r][c] * w[c]| of the row)',
    fullSpeedup: 3.85,
    row: (x, w) => {
      const scaled = x.map((each, column) => each * at(w, column));
      const most = Math.max(...scaled.map((each) => Math.abs(each)));
      return scaled.map((each) => each / (epsilon + most));
    },
    naiveRow: `
    double most = 0;
    for (int c = 0; c < cols; c++) if (fabsf(in[c] * w[c]) > most) most = fabsf(in[c] * w[c]);
    for (int c = 0; c < cols; c++) to[c] = (double)in[c] * w[c] / (1e-5 + most);`,
  },
  {
    name: 'rms_norm',
    split: 'eval',
    formula: 'out[r][c] = x[r][c] * w[c] / sqrt(1e-5 + the mean of x[r][c] * x[r][c] over the row)',
    fullSpeedup: 3.5,
    row: (x, w) => {
      const scale = Math.sqrt(epsilon + mean(x.map((each) => each * each)));
      return x.map((each, column) => (each * at(w, column)) / scale);
    },
    naiveRow: `
    double total = 0;
    for (int c = 0; c < cols; c++) total += (double)in[c] * in[c] / cols;
    for (int c = 0; c < cols; c++) to[c] = in[c] * w[c] / sqrtf(1e-5 + total);`,
  },
  {
    name: 'silu_gate',
    split: 'eval',
    formula: 'out[r][c] = w[c] * x[r][c] / (1 + exp(-x[r][c]))',
    fullSpeedup: 15.8,
    row: (x, w) => x.map((each, column) => (at(w, column) * each) / (1 + Math.exp(-each))),
    naiveRow: `
    for (int c = 0; c < cols; c++) to[c] = w[c] * in[c] / (1.0 + exp(-in[c]));`,
  },
];

export const operationNamed = (name: string): Operation | undefined =>
  operations.find((operation) => operation.name === name);

/** The reference in C, as the policy gets it. */
export const naiveSource = ({ naiveRow }: Operation): string => `double exp(double);
float expf(float);
float sqrtf(float);
float fabsf(float);

void kernel(const float *x, const float *w, float *out, int rows, int cols) {
  for (int r = 0; r < rows; r++) {
    const float *in = x + (long)r * cols;
    float *to = out + (long)r * cols;${naiveRow}
  }
}
`;
