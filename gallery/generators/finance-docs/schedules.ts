/** A line of a schedule: as pages print it, and as people ask for it. */
export type Line = {
  readonly label: string;
  /** What questions call it; often not what the page does. */
  readonly asked: readonly [string, ...string[]];
  /** Of the company's size. */
  readonly share: number;
};

/** What one page of a year's report is about: five of them make a report here. */
export type Schedule = {
  readonly name: string;
  readonly title: string;
  readonly lines: readonly Line[];
  readonly total: string;
  /** Years that its table shows, its own first. */
  readonly years: 2 | 3;
  readonly before: readonly string[];
  readonly after: readonly string[];
};

const line = (label: string, share: number, ...asked: readonly [string, ...string[]]): Line => ({
  label,
  share,
  asked,
});

export const schedules: readonly Schedule[] = [
  {
    name: 'debt',
    title: 'long-term debt and credit arrangements',
    years: 2,
    lines: [
      line(
        'revolving credit facility',
        0.11,
        'the revolver',
        'the revolving credit facility',
        'the credit line',
      ),
      line(
        'senior unsecured notes',
        0.34,
        'the senior unsecured notes',
        'the senior bonds',
        'the senior notes',
      ),
      line('term loan due in instalments', 0.16, 'the term loan', 'the instalment bank loan'),
      line('commercial paper', 0.06, 'commercial paper', 'the short-term paper'),
      line('finance lease obligations', 0.04, 'the finance lease obligations', 'the capitalised leases'),
    ],
    total: 'total debt',
    before: [
      'the following table summarizes the outstanding borrowings of {name} and its subsidiaries at december 31 , {year} .',
      'the credit agreement contains covenants that limit the ratio of consolidated indebtedness to capitalization , and {name} was in compliance with them .',
    ],
    after: [
      'the fair value of the notes was estimated from quoted prices of similar issues .',
      'borrowings under the agreement bear interest at a base rate plus a margin of {small} basis points .',
    ],
  },
  {
    name: 'segments',
    title: 'net revenue by source',
    years: 3,
    lines: [
      line('product sales', 0.52, 'product sales', 'sales of goods', 'goods sold'),
      line(
        'services and maintenance',
        0.23,
        'services and maintenance',
        'the upkeep business',
        'service work',
      ),
      line('licensing and royalties', 0.09, 'licensing and royalties', 'royalty income', 'licence fees'),
      line(
        'international operations',
        0.13,
        'international operations',
        'business abroad',
        'foreign markets',
      ),
      line('other revenue', 0.03, 'other revenue', 'miscellaneous sales'),
    ],
    total: 'net revenue',
    before: [
      '{name} reported revenue from five principal sources in {year} , which management reviews each quarter .',
      'revenue of the {business} is recognized when control passes to the customer , generally on delivery .',
    ],
    after: [
      'no single customer accounted for more than {small} % of revenue .',
      'demand in {place} and the surrounding region remained a principal driver of volumes .',
    ],
  },
  {
    name: 'taxes',
    title: 'provision for income taxes',
    years: 3,
    lines: [
      line('current federal', 0.031, 'current federal taxes', 'what is owed to Washington this year'),
      line('current state and local', 0.008, 'current state and local taxes', 'state taxes payable now'),
      line('current foreign', 0.006, 'current foreign taxes', 'taxes currently due abroad'),
      line('deferred federal', 0.012, 'deferred federal taxes', 'federal tax put off to later years'),
      line('deferred state and foreign', 0.004, 'deferred state and foreign taxes'),
    ],
    total: 'total provision for income taxes',
    before: [
      'the components of the provision for income taxes of {name} in {year} were as follows .',
      'the effective rate differed from the statutory rate chiefly because of state taxes and credits for research .',
    ],
    after: [
      'a valuation allowance is recorded where it is more likely than not that a benefit will not be realized .',
      'tax years since {earlier} remain open to examination in {place} and other jurisdictions .',
    ],
  },
  {
    name: 'pensions',
    title: 'net periodic benefit cost',
    years: 2,
    lines: [
      line('service cost', 0.013, 'service cost', 'the cost of benefits earned in the year'),
      line('interest cost on obligation', 0.017, 'interest cost', 'interest on the pension obligation'),
      line(
        'amortization of prior service',
        0.005,
        'amortization of prior service',
        'past service written off',
      ),
      line('recognized actuarial loss', 0.009, 'the recognized actuarial loss', 'the actuarial shortfall'),
      line('settlement charges', 0.003, 'settlement charges', 'the cost of settling pensions'),
    ],
    total: 'net benefit cost',
    before: [
      '{name} sponsors defined benefit plans whose net benefit cost in {year} is shown for employees hired before {earlier} .',
      'the discount rate was chosen from yields of high quality bonds that match the expected payments .',
    ],
    after: [
      'contributions to the plans in the coming year are expected to be about $ {small} million .',
      'plan assets are invested in equities , bonds and the properties of a trust in {place} .',
    ],
  },
  {
    name: 'leases',
    title: 'capital expenditures and rental commitments',
    years: 3,
    lines: [
      line('buildings and improvements', 0.048, 'buildings and improvements', 'spending on buildings'),
      line('machinery and equipment', 0.083, 'machinery and equipment', 'spending on machines'),
      line('vehicles and rolling stock', 0.021, 'vehicles and rolling stock', 'the fleet of vehicles'),
      line(
        'software and systems',
        0.026,
        'software and systems',
        'capitalised software',
        'computer programs',
      ),
      line('operating lease rentals', 0.037, 'operating lease rentals', 'rent'),
    ],
    total: 'total capital and rental outlays',
    before: [
      'capital and rental outlays of {name} for the year ended december 31 , {year} are shown below .',
      'the {business} leases warehouses , offices and equipment under agreements that expire through the next {small} years .',
    ],
    after: [
      'commitments for equipment on order at year end were not material to {name} .',
      'the largest project was the enlargement of the site in {place} .',
    ],
  },
];
