/** Another seed is another dataset, and so another version of the environment. */
export const seed = 'finance-docs 1';
