/**
 * What a dashboard is before it is Grafana's: rows of panels, each with the question it answers and what to do when it is
 * red. Grafana's JSON, the pictures and the page are all written from this, so that none of them can say something else.
 */
export type Dashboard = {
  /** In links and file names, and Grafana's uid; it never changes. */
  readonly uid: string;
  readonly title: string;
  /** Who opens it, and what for. */
  readonly description: string;
  /** `one`: it is about a single environment, which is chosen. `unused`: it has none, and hands the choice on to the others. */
  readonly environments: 'several' | 'one' | 'unused';
  readonly rows: readonly Row[];
};

export type Row = { readonly title: string; readonly panels: readonly Panel[] };

export type Panel = {
  /** A question, or a plain noun. */
  readonly title: string;
  readonly kind: PanelKind;
  readonly size: Size;
  readonly unit: Unit;
  /** How the figure is to be read; a few sentences of Markdown. */
  readonly reading: string;
  /** What to do when it is red, or looks odd where nothing is ever red. */
  readonly todo: string;
  readonly limits: Limits;
  readonly needs: DataNeed;
  readonly queries: readonly Query[];
};

/** `stacked`: lines that add up to something. */
export type PanelKind = 'stat' | 'lines' | 'stacked' | 'heatmap' | 'table';

/** Columns, of Grafana's 24, and rows of its grid. Rows of panels break where the columns are full. */
export type Size = { readonly columns: number; readonly rows: number };

export type Query = {
  /** PromQL with Grafana's variables. */
  readonly expr: string;
  /** Grafana's `{{label}}` are filled in. Empty: the only series needs no name. */
  readonly legend: string;
};

/**
 * Below the first step a figure has the colour `below`; from each step on, that step's. Each says why it is there and not
 * elsewhere. `none`: why no figure is good or bad by itself.
 */
export type Limits =
  | { readonly none: string }
  | { readonly below: Colour; readonly steps: readonly [Step, ...Step[]] };

export type Step = { readonly from: number; readonly colour: Colour; readonly because: string };
export type Colour = 'green' | 'yellow' | 'red';

/**
 * When a panel without data is a mistake. `load`: whenever rollouts were played. `cluster`: then too, but only on
 * Kubernetes. `event`: only what happens rarely fills it.
 */
export type DataNeed = 'load' | 'cluster' | 'event';

/** Grafana's name of a unit, its name for people, and its sign behind a figure. */
export const units = {
  share: { grafana: 'percentunit', text: '%', sign: ' %' },
  seconds: { grafana: 's', text: 'seconds', sign: ' s' },
  bytes: { grafana: 'bytes', text: 'bytes', sign: ' bytes' },
  count: { grafana: 'short', text: 'count', sign: '' },
  perSecond: { grafana: 'cps', text: 'per second', sign: '/s' },
  perMinute: { grafana: 'cpm', text: 'per minute', sign: '/min' },
  hours: { grafana: 'h', text: 'hours', sign: ' h' },
  cores: { grafana: 'suffix: cores', text: 'cores', sign: ' cores' },
  times: { grafana: 'suffix: ×', text: 'times the budget', sign: ' ×' },
  yesNo: { grafana: 'bool_yes_no', text: 'yes or no', sign: '' },
} as const;
export type Unit = keyof typeof units;

/** All of a panel but what its maker says: the rest of {@link Panel}, with its usual size and need. */
type Rest = Omit<Panel, 'kind' | 'title' | 'unit' | 'size' | 'needs'> &
  Partial<Pick<Panel, 'needs'>> &
  Partial<Size>;

/** A picture with its legend is eight rows of Grafana's grid high, a figure half of that. */
const panelOf =
  (kind: PanelKind, usualColumns: number, usualRows = 8) =>
  (title: string, unit: Unit, { columns = usualColumns, rows = usualRows, ...rest }: Rest): Panel => ({
    needs: 'load',
    ...rest,
    kind,
    title,
    unit,
    size: { columns, rows },
  });

/** One figure, four in a line. */
export const stat = panelOf('stat', 6, 4);
/** Over time, two in a line. */
export const lines = panelOf('lines', 12);
export const stacked = panelOf('stacked', 12);
export const heatmap = panelOf('heatmap', 12);
/** Of the whole time that is looked at. */
export const table = panelOf('table', 12);
