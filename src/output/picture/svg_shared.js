// Functions for the scripts of all pictures. The picture's own script follows, in the same function within the SVG.

const SVG = 'http://www.w3.org/2000/svg';
const HTML = 'http://www.w3.org/1999/xhtml';
const script = document.currentScript;
const svg = (script && script.ownerSVGElement) || document.documentElement;
const byId = (id) => svg.querySelector('#' + id);

// ---- numbers, formatted as in src/base/text/numbers.cpp; numbers above 53 bits may be rounded differently ----

const grouped = (value) => String(value).replace(/\B(?=(\d{3})+(?!\d))/g, ',');

// Rounds before the division, because toFixed() would round down 1.005, which is stored as slightly less than 1.005.
const fixed = (scaled, decimals) => (scaled / 10 ** decimals).toFixed(decimals);

function threeDigits(value, unit) {
  const hundredths = Math.round((value * 100) / unit);
  if (hundredths < 1000) return fixed(hundredths, 2);
  const tenths = Math.round((value * 10) / unit);
  return tenths < 1000 ? fixed(tenths, 1) : grouped(Math.round(value / unit));
}

function duration(ns) {
  if (ns < 1e3) return ns + ' ns';
  if (ns < 999500) return threeDigits(ns, 1e3) + ' us';
  if (ns < 999500000) return threeDigits(ns, 1e6) + ' ms';
  return threeDigits(ns, 1e9) + ' s';
}

function bytes(value) {
  let unit = 0;
  while (unit < 4 && Math.round(value / 1024 ** unit) >= 1024) ++unit;
  return unit === 0 ? value + ' B' : threeDigits(value, 1024 ** unit) + ' ' + ' KMGT'[unit] + 'iB';
}

const exactNs = (ns) => duration(ns) + (ns < 1e3 ? '' : ' (' + grouped(ns) + ' ns)');
const exactBytes = (value, name) => bytes(value) + (value < 1024 ? ' ' : ' (' + grouped(value) + ' bytes) ') + name;
const counted = (value) => grouped(value) + ' ' + (value === 1 ? data.countName : data.countNames);
const percent = (part, whole) => fixed(whole > 0 ? Math.round((10000 * part) / whole) : 0, 2) + '%';

// ---- the page around the picture ----

// Returns the available width. For an SVG that is alone in a window, that is the window's width; otherwise the width of
// the container in the page.
function availableWidth() {
  const container = svg === document.documentElement ? null : svg.parentElement;
  return container ? container.clientWidth : document.documentElement.clientWidth || innerWidth;
}

function listen(onKey, restore, layOut) {
  (svg === document.documentElement ? window : svg).addEventListener('keydown', onKey);
  window.addEventListener('popstate', restore);
  let pending = 0;
  window.addEventListener('resize', () => {
    cancelAnimationFrame(pending);
    pending = requestAnimationFrame(layOut);
  });
}

// ---- elements ----

function make(namespace, name, attributes, text) {
  const element = document.createElementNS(namespace, name);
  for (const key in attributes) element.setAttribute(key, attributes[key]);
  if (text !== undefined) element.textContent = text;
  return element;
}

function cutToPixels(element, text, pixels) {
  element.textContent = text;
  if (element.getComputedTextLength() <= pixels) return;
  const characters = Array.from(text);
  let low = 0;
  let high = characters.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    element.textContent = characters.slice(0, middle).join('') + '\u2026';
    if (element.getComputedTextLength() <= pixels) low = middle; else high = middle - 1;
  }
  element.textContent = characters.slice(0, low).join('') + '\u2026';
}

// Breaks the text into at most `most` lines of `height` px, and cuts the last one if necessary. Returns their number.
function wrapToPixels(element, text, pixels, most, height = 16) {
  element.textContent = text;
  if (most === 1 || element.getComputedTextLength() <= pixels) {
    cutToPixels(element, text, pixels);
    return 1;
  }
  const lines = [];
  let line = '';
  for (const word of text.split(' ')) {
    const longer = line === '' ? word : line + ' ' + word;
    element.textContent = longer;
    if (line !== '' && lines.length + 1 < most && element.getComputedTextLength() > pixels) {
      lines.push(line);
      line = word;
    } else {
      line = longer;
    }
  }
  lines.push(line);
  element.textContent = '';
  const parts = lines.map((part, at) => make(SVG, 'tspan', { x: element.getAttribute('x'), dy: at === 0 ? 0 : height }));
  element.append(...parts);
  parts.forEach((part, at) => cutToPixels(part, lines[at], pixels));
  return lines.length;
}

// Arranges the keys of a legend in lines at this width. Returns the height of all lines.
function layLegend(legend, width, pad) {
  const row = Number(legend.dataset.h);
  let x = pad;
  let y = 0;
  for (const key of legend.children) {
    const wide = 17 + key.lastChild.getComputedTextLength();
    if (x > pad && x + wide > width - pad) {
      x = pad;
      y += row;
    }
    key.setAttribute('transform', 'translate(' + x + ',' + y + ')');
    x += wide + 16;
  }
  return y + row;
}

