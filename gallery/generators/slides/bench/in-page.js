/* Runs in the page, where scripts of the page itself do not: `measure.ts` sends these functions as text. */

/** Names of what is refused of attributes and styles. */
export function refusalsInPage(allowed, most) {
  const refused = new Set();
  const all = [...document.getElementsByTagName('*')];
  if (all.length > most.elements) return ['too many elements'];
  for (const element of all) {
    for (const { name, value } of element.attributes) {
      if (!allowed.attributes.includes(name)) refused.add(`attribute ${name.slice(0, 40)}`);
      if (name === 'name' && (element.localName !== 'meta' || value !== 'viewport'))
        refused.add('attribute name');
    }
    checkStyle(element.style);
  }
  for (const sheet of document.styleSheets) for (const rule of sheet.cssRules) checkRule(rule);
  const pages = [...document.body.children];
  if (pages.length === 0 || pages.some(({ localName }) => localName !== 'section'))
    refused.add('body has other than sections');
  if (pages.length > most.slides) refused.add('too many slides');
  return [...refused].slice(0, 8);

  function checkRule(rule) {
    if (!(rule instanceof CSSStyleRule) || rule.cssRules.length > 0) {
      refused.add(`rule ${rule.cssText.slice(0, 24)}`);
      return;
    }
    for (const [, name] of rule.selectorText.matchAll(/:(:?[\w-]*)/g))
      if (!allowed.pseudo.includes(name)) refused.add(`selector :${name.slice(0, 30)}`);
    checkStyle(rule.style);
  }

  function checkStyle(style) {
    for (const name of style) {
      const value = style.getPropertyValue(name);
      if (style.getPropertyPriority(name) !== '') refused.add('!important');
      if (name.startsWith('--')) refused.add('custom property');
      else if (!isAllowed(name, value)) refused.add(`property ${name}`);
      else if (/url\(|image|attr\(|element\(|env\(/i.test(value) && value !== 'initial')
        refused.add(`value of ${name}`);
      if (name === 'display' && !allowed.displays.includes(value)) refused.add(`display ${value}`);
      if (name === 'position' && !allowed.positions.includes(value)) refused.add(`position ${value}`);
    }
  }

  function isAllowed(name, value) {
    if (allowed.refused.some((each) => name.startsWith(each)))
      return (
        value === 'none' ||
        value === 'initial' ||
        value === 'normal' ||
        value === 'auto' ||
        value === '100%' ||
        value === '1' ||
        value === '0' ||
        value === 'stretch'
      );
    // The short form of background names all its parts.
    if (name.startsWith('background-') && name !== 'background-color')
      return value === 'initial' || value === 'none';
    return allowed.properties.some((each) => name === each || name.startsWith(`${each}-`));
  }
}

/** One slide is shown at a time, each a page of the same size; `mode`: as it is, without its text, or its text alone in black. */
export function showPage(number, mode) {
  const sheet = new CSSStyleSheet();
  const modes = {
    whole: '',
    bare: '* { -webkit-text-fill-color: transparent !important; text-decoration-color: transparent !important }',
    text: `* { -webkit-text-fill-color: #000 !important; background-color: transparent !important; border-color: transparent !important;
      box-shadow: none !important; text-decoration-color: transparent !important } ::marker { color: transparent !important }`,
  };
  sheet.replaceSync(`
    html, body { display: block !important; position: static !important; margin: 0 !important; padding: 0 !important; border: 0 !important; width: 1280px !important;
      min-width: 0 !important; max-width: none !important; height: 720px !important; min-height: 0 !important; max-height: none !important; background-color: #fff !important; overflow: hidden !important }
    head, head * { display: none !important }
    body > section { box-sizing: border-box !important; position: relative !important; inset: 0 !important; float: none !important;
      width: 1280px !important; min-width: 0 !important; max-width: none !important; height: 720px !important; min-height: 0 !important; max-height: none !important; margin: 0 !important; contain: strict !important; overflow: clip !important }
    body > section:not(:nth-of-type(${number})) { display: none !important }
    ${modes[mode]}`);
  document.adoptedStyleSheets = [sheet];
  return document.body.children.length;
}

/** The words of the slide that is shown, with their places, by line: the text of a block, up to a line break. */
export function wordsOfPage(number, most) {
  const section = document.body.children[number - 1];
  const lines = [];
  let block = null;
  let count = 0;
  const walker = document.createTreeWalker(section, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT);
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    if (node.nodeType === Node.ELEMENT_NODE) {
      if (node.localName === 'br' || node.localName === 'hr') block = null;
      continue;
    }
    const parent = node.parentElement;
    const owner = blockOf(parent);
    if (owner !== block) {
      lines.push({ heading: owner.closest('h1, h2') !== null, text: '', words: [] });
      block = owner;
    }
    const line = lines.at(-1);
    line.text += node.data;
    const style = getComputedStyle(parent);
    for (const { 0: text, index } of node.data.matchAll(/\S+/g)) {
      count += 1;
      if (count > most.words) return null;
      line.words.push({
        text,
        ...placeOf(node, index, index + text.length),
        size: Number.parseFloat(style.fontSize),
        family: style.fontFamily,
      });
    }
  }
  return lines.filter(({ words }) => words.length > 0);

  function blockOf(element) {
    let each = element;
    while (each !== section && /^(?:inline|contents)/.test(getComputedStyle(each).display))
      each = each.parentElement;
    return each;
  }

  function placeOf(node, start, end) {
    const range = new Range();
    range.setStart(node, start);
    range.setEnd(node, end);
    const boxes = [...range.getClientRects()].map(({ x, y, width, height }) => ({ x, y, width, height }));
    return { boxes, clipped: boxes.some((box) => isClipped(node.parentElement, box)) };
  }

  function isClipped(element, { x, y, width, height }) {
    for (let each = element; each !== section; each = each.parentElement) {
      if (getComputedStyle(each).overflow === 'visible') continue;
      const box = each.getBoundingClientRect();
      if (x < box.x - 1 || y < box.y - 1 || x + width > box.right + 1 || y + height > box.bottom + 1)
        return true;
    }
    return false;
  }
}
