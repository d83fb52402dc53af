export { configuration as default } from '../config.ts';
