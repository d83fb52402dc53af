// Fonts of the reader's system: a first page is small, and nothing is fetched from elsewhere.
import Theme from 'vitepress/theme-without-fonts';
import './style.css';

export default Theme;
