// Redraws the flame graph at the window's width, with zoom, search and keyboard. Runs inside its SVG, after
// svg_shared.js and svg_views.js, before svg_tools.js. Uses no network. Inserts names only as text nodes.
const data = JSON.parse(byId('gp-data').textContent);

if (data.cut) data.labels.push('[left out of this picture]', 'x2');  // this label must be the last one

// A file that was saved from a sandwich view contains only that view. Only such a file has `data.split`.
const base = indexed(data.frames, data.weight, data.split);
const baseKind = data.split !== undefined ? 'sandwich' : data.inverted ? 'inverted' : 'flame';
let view = base;

const depthOf = (i) => view.frames[i * STRIDE];
const labelOf = (i) => view.frames[i * STRIDE + 1];
const nameOf = (i) => data.labels[2 * labelOf(i)];
const styleOf = (i) => data.labels[2 * labelOf(i) + 1];
const widthOf = (i) => view.frames[i * STRIDE + data.weight];
// The root has row 0; rows below the root are negative.
const rowOf = (i) => (i < view.split ? depthOf(i) : -depthOf(i));
const whole = () => base.frames[data.weight];

// In a differential picture, the bytes of a frame hold the measurement that does not determine its width.
const otherOf = (i) => view.frames[i * STRIDE + BYTES];
const beforeAfter = (i) => (data.difference.showsNew ? [otherOf(i), widthOf(i)] : [widthOf(i), otherOf(i)]);

function shadeOf(i) {
  if (!data.difference) return styleOf(i);
  const [before, after] = beforeAfter(i);
  const most = Math.max(before, after);
  const change = most > 0 ? (after - before) / most : 0;
  const step = data.difference.steps.filter((least) => Math.abs(change) >= least).length;
  return step === 0 ? 'e0' : (change > 0 ? 'r' : 'b') + (step - 1);
}

// `kind` of the view: flame, inverted, or sandwich. `sandwich`: the label of the frames in the middle of the sandwich.
// `pointer`: the last position of the pointer. Hover events at that position are ignored, because they come from frames
// that move under a resting pointer.
const state = { zoom: 0, focus: 0, hover: -1, width: 0, pattern: '', kind: baseKind, sandwich: -1, pointer: '' };
const made = new Map();   // cached views by kind; holds only the last sandwich
const drawn = new Map();  // maps the index of a frame to its element
let rows = [];            // indexed by depth: the drawn frames from left to right
let matches = null;       // set during a search: Uint8Array, indexed by label
let advance = 6.65;       // width in px of one column of a frame's text

function changeNumbers(i) {
  const exact = data.weight === NS ? exactNs : counted;
  const [before, after] = beforeAfter(i);
  const texts = ['old ' + exact(before), 'new ' + exact(after)];
  const percents = before > 0 ? 100 * (after / before - 1) : 0;
  if (before > 0) texts.push((percents < 0 ? '' : '+') + percents.toFixed(1) + '%');
  texts.push(percent(widthOf(i), whole()) + ' of total');
  return texts.join(', ');
}

function numbers(i) {
  if (data.difference) return changeNumbers(i);
  const at = i * STRIDE;
  const parts = [[NS, exactNs(view.frames[at + NS])], [COUNT, counted(view.frames[at + COUNT])],
                 [BYTES, exactBytes(view.frames[at + BYTES], data.bytesName)]];
  const texts = [parts[data.weight - NS][1], percent(widthOf(i), whole()) + ' of total'];
  if (i > state.zoom && i < view.end[state.zoom] && state.zoom !== 0) texts.push(percent(widthOf(i), widthOf(state.zoom)) + ' of zoomed');
  for (const [kind, text] of parts) {
    if (kind !== data.weight && view.frames[at + kind] > 0) texts.push(text);
  }
  return texts.join(', ');
}

const isAll = (i) => i === 0 && state.kind !== 'sandwich';
const className = (i) => (isAll(i) ? '' : data.classes[styleOf(i)[0]]);

// ---- elements ----

const WIDE = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\u{1f300}-\u{3fffd}]/u;

const LEAST_COLUMNS = 5;  // labels that are cut to fewer columns are not readable

function cutToColumns(text, columns) {
  if (text.length <= columns && !WIDE.test(text)) return text;
  if (columns < LEAST_COLUMNS) return '';
  let used = 0;
  let keep = '';
  for (const character of text) {
    used += WIDE.test(character) ? 2 : 1;
    if (used > columns) return keep + '\u2026';
    if (used < columns) keep += character;
  }
  return text;
}

// ---- header ----

const head = byId('gp-head');
const details = { name: byId('gp-name'), numbers: byId('gp-details-hint') };
const BAR_WIDTH = 480;
const TITLE_HEIGHT = 22;
let headerHeight = 0;

function hint() {
  const way = { flame: 'Callers below, callees above.', inverted: 'Callees below, callers above.',
                sandwich: 'Its callers below, its callees above.' }[state.kind];
  const cut = view.cut ? ' Narrow frames end early: too many to show.' : '';
  return data.hint.replace(/(Callers|Callees) below, (callees|callers) above\./, () => way) + cut;
}

// Stacks the header's blocks at this width. The tools stand beside the title, or above it if the width is too small.
// Long texts wrap; losses are cut after 12 lines.
function layHeader(width) {
  const beside = width >= 860;
  const room = width - 2 * data.pad;
  const tools = bar.lay(beside ? width - data.pad - BAR_WIDTH : data.pad, beside ? BAR_WIDTH : room);
  const texts = { 'gp-title': [data.title, 2], 'gp-subtitle': [data.subtitle, 2], 'gp-facts': [data.facts, 3],
                  'gp-total': [data.total, 4] };
  let y = beside ? 6 : 6 + tools;
  for (const block of head.querySelectorAll('[data-h]')) {
    let more = 0;
    if (block.id in texts) {
      const [text, most] = texts[block.id];
      const high = block.id === 'gp-title' ? TITLE_HEIGHT : 16;
      more = high * (wrapToPixels(block.firstChild, text, beside ? room - BAR_WIDTH - 20 : room, most, high) - 1);
    } else if (beside) {
      y = Math.max(y, tools + 8);
    }
    block.setAttribute('transform', 'translate(0,' + y + ')');
    if (block.id === 'gp-notice') {
      more = 16 * (wrapToPixels(block.querySelector('text'), data.notice, room - 2 * data.pad, 12) - 1);
      block.querySelector('rect').setAttribute('width', Math.max(room, 0));
      block.querySelector('rect').setAttribute('height', 22 + more);
    }
    if (block.id === 'gp-details') more = reserveDetails(room);
    y += block.id === 'gp-legend' ? layLegend(block, width, data.pad) : Number(block.dataset.h) + more;
  }
  byId('gp-rule').setAttribute('x2', width);
  byId('gp-band').setAttribute('width', width);
  byId('gp-band').setAttribute('height', y);
  headerHeight = y;
}

const HELP = 'Click or Enter zooms, Esc resets, arrow keys move between frames, / searches, n and N step through ' +
    'matches, i inverts, s shows all callers and callees of a frame.';
const detailLines = { name: 1, numbers: 1 };

// Reserves the lines that the hint and the help need. A frame's name and numbers get the same lines, so that the graph
// does not move. Returns the height of the lines after the first two.
function reserveDetails(room) {
  const most = 8;
  detailLines.name = wrapToPixels(details.name, hint(), room, most);
  details.numbers.setAttribute('y', 20 + 16 * detailLines.name);
  detailLines.numbers = wrapToPixels(details.numbers, HELP, room, most);
  return 16 * (detailLines.name + detailLines.numbers - 2);
}

function showDetails() {
  const i = state.hover >= 0 ? state.hover : document.activeElement === drawn.get(state.focus) ? state.focus : -1;
  const room = state.width - 2 * data.pad;
  const show = (name, text) => {
    wrapToPixels(details.name, name, room, detailLines.name);
    wrapToPixels(details.numbers, text, room, detailLines.numbers);
  };
  if (i >= 0) {
    const kind = className(i);
    show(nameOf(i), numbers(i) + (kind ? ' \u2014 ' + kind : ''));
  } else if (state.zoom !== 0) {
    show('Zoomed: ' + nameOf(state.zoom), numbers(state.zoom));
  } else if (state.kind === 'sandwich') {
    show('Sandwich: ' + nameOf(0), numbers(0) + ' \u2014 its callers below, its callees above.' +
         (baseKind === 'sandwich' ? '' : ' s leads back.'));
  } else {
    show(hint(), HELP);
  }
}

// Keeps the header visible while a tall graph scrolls under it.
function stickHeader() {
  const box = svg.getBoundingClientRect();
  const room = window.innerHeight > 2.5 * headerHeight;
  const down = room ? Math.min(Math.max(0, -box.top), Math.max(0, box.height - headerHeight - 40)) : 0;
  head.setAttribute('transform', 'translate(0,' + down + ')');
}

// ---- frames ----

const layer = byId('gp-frames');
const ring = make(SVG, 'rect', { id: 'gp-ring', rx: 2, visibility: 'hidden' });

function frameElement(i, x, y, width, above) {
  let style = shadeOf(i);
  if (width < 3) style += ' thin';
  if (above) style += ' above';
  if (isMatch(i)) style += ' hit';
  const group = make(SVG, 'g', {
    class: style, role: 'treeitem', tabindex: i === state.focus ? 0 : -1, 'data-i': i,
    'aria-level': depthOf(i) + 1, 'aria-label': nameOf(i) + ', ' + numbers(i),
  });
  group.append(make(SVG, 'rect', { x: x.toFixed(2), y, width: width.toFixed(2), height: data.rowHeight - 1, rx: 1 }));
  const text = cutToColumns(nameOf(i), Math.floor((width - 6) / advance));
  if (text) group.append(make(SVG, 'text', { x: (x + 3).toFixed(2), y: y + 12 }, text));
  return group;
}

// Returns the smallest width to draw, in units of the weight. Narrower frames cannot be seen, or would be too many for
// a browser to draw without delay.
function leastDrawn(zoom, scale) {
  const wide = [];
  const least = data.minWidth / scale;
  for (let i = zoom; i < view.end[zoom];) {
    if (widthOf(i) >= least) wide.push(widthOf(i++)); else i = view.end[i];
  }
  if (wide.length <= data.drawnFrames) return least;
  wide.sort((a, b) => b - a);
  return wide[data.drawnFrames] + 1;
}

// Counts the rows that have visible frames: above and including the root, and below it.
function rowsOf(zoom, room) {
  const scale = widthOf(zoom) > 0 ? room / widthOf(zoom) : 0;
  const least = leastDrawn(zoom, scale);
  const found = { up: Math.max(rowOf(zoom) + 1, 1), down: Math.max(-rowOf(zoom), 0) };
  for (let i = zoom + 1; i < view.end[zoom];) {
    if (widthOf(i) < least) {
      i = view.end[i];
      continue;
    }
    found.up = Math.max(found.up, rowOf(i) + 1);
    found.down = Math.max(found.down, -rowOf(i));
    ++i;
  }
  return found;
}

// Always reserves at least the rows of the whole view, so that the graph does not move when a zoom shows fewer rows.
function rowsToDraw(room) {
  const whole = rowsOf(0, room);
  const part = state.zoom === 0 ? whole : rowsOf(state.zoom, room);
  return { up: Math.max(whole.up, part.up), down: Math.max(whole.down, part.down) };
}

function draw() {
  const room = Math.max(state.width - 2 * data.pad, 1);
  const top = headerHeight + 4 + (byId('gp-empty') ? 60 : 0);
  const { up, down } = rowsToDraw(room);
  const height = top + (up + down) * data.rowHeight + data.pad;
  const shown = widthOf(state.zoom);
  const scale = shown > 0 ? room / shown : 0;
  const least = leastDrawn(state.zoom, scale);
  const held = document.activeElement;
  const hadFocus = held !== null && layer.contains(held);
  drawn.clear();
  rows = Array.from({ length: view.levels + view.lower }, () => []);
  const fragment = document.createDocumentFragment();
  const put = (i, x, width, above) => {
    const y = top + (up - 1 - rowOf(i)) * data.rowHeight;
    const element = frameElement(i, x, y, width, above);
    drawn.set(i, element);
    rows[rowOf(i) + view.lower].push(i);
    fragment.append(element);
  };
  if (!visibleFocus()) state.focus = state.zoom;
  for (let i = view.parent[state.zoom]; i >= 0; i = view.parent[i]) put(i, data.pad, room, true);
  for (let i = state.zoom; i < view.end[state.zoom];) {
    if (i !== state.zoom && widthOf(i) < least) {
      i = view.end[i];
      continue;
    }
    const wide = i === state.zoom ? room : widthOf(i) * scale;
    put(i, data.pad + (view.start[i] - view.start[state.zoom]) * scale, wide, false);
    ++i;
  }
  if (!drawn.has(state.focus)) {
    state.focus = state.zoom;
    drawn.get(state.focus).setAttribute('tabindex', 0);
  }
  layer.classList.toggle('searched', matches !== null);
  layer.replaceChildren(fragment);
  svg.setAttribute('width', state.width);
  svg.setAttribute('height', height);
  byId('gp-page').setAttribute('width', state.width);
  byId('gp-page').setAttribute('height', height);
  if (byId('gp-empty')) byId('gp-empty').setAttribute('y', headerHeight + 36);
  if (hadFocus) drawn.get(state.focus).focus({ preventScroll: true });
  bar.showState();
  map.showZoom();
  showRing();
  showDetails();
  stickHeader();
}

// Returns whether the focused frame is a caller or callee of the zoomed frame.
function visibleFocus() {
  const { focus, zoom } = state;
  return (focus >= zoom && focus < view.end[zoom]) || (zoom >= focus && zoom < view.end[focus]);
}

function showRing() {
  const element = drawn.get(state.focus);
  const shown = element === document.activeElement && element.matches(':focus-visible');
  ring.setAttribute('visibility', shown ? 'visible' : 'hidden');
  if (!shown) return;
  const rect = element.querySelector('rect');
  for (const name of ['x', 'y', 'width', 'height']) ring.setAttribute(name, rect.getAttribute(name));
}

function layOut() {
  state.width = Math.max(availableWidth(), 200);
  layHeader(state.width);
  draw();
}

// ---- zoom, and the address that restores it ----

function remember(push) {
  const parts = [];
  if (state.kind !== baseKind) parts.push('view=' + state.kind);
  if (state.sandwich >= 0) parts.push('frame=' + state.sandwich);
  if (state.zoom !== 0) parts.push('zoom=' + state.zoom);
  if (state.pattern) parts.push('search=' + encodeURIComponent(state.pattern));
  try {
    history[push ? 'pushState' : 'replaceState'](null, '', parts.length ? '#' + parts.join('&') : '#');
  } catch (error) {
    // A sandboxed viewer may refuse to change the address. The picture works without it.
  }
}

function zoomTo(i) {
  if (i === state.zoom) return;
  state.focus = i;
  state.zoom = i;
  draw();
  search(state.pattern, true);
  remember(true);
}

function viewOf(kind, label) {
  if (kind === baseKind) return base;
  if (!made.has(kind) || kind === 'sandwich') {
    made.set(kind, kind === 'sandwich' ? sandwichView(base, data.weight, data.labels, label, data.inverted) :
        invertedView(base, data.weight, data.labels, data.cut || []));
  }
  return made.get(kind);
}

// Selects a view. The caller must draw it.
function choose(kind, label) {
  if (kind !== state.kind || label !== state.sandwich) {
    view = viewOf(kind, label);
    map.forget();
  }
  state.kind = kind;
  state.sandwich = label;
  state.zoom = 0;
  state.focus = 0;
  state.hover = -1;
}

function show(kind, label) {
  choose(kind, label);
  layOut();
  search(state.pattern, true);
  remember(true);
}

function toggleInverted() {
  if (baseKind === 'sandwich') bar.say(ONLY_SANDWICH); else show(state.kind === 'inverted' ? 'flame' : 'inverted', -1);
}

const ONLY_SANDWICH = 'This file holds the callers and callees of one function only.';

// Shows the sandwich of the focused frame or, without one, of the zoomed frame. Ends a sandwich that is already shown.
function toggleSandwich() {
  const i = isAll(state.focus) ? state.zoom : state.focus;
  if (baseKind === 'sandwich') bar.say(ONLY_SANDWICH);
  else if (state.kind === 'sandwich' && i === 0) show(baseKind, -1);
  else if (!isAll(i)) show('sandwich', labelOf(i));
  else bar.say('Choose a frame first: move to it with Tab and the arrow keys, or zoom to it.');
}

function restore() {
  const values = new Map(location.hash.slice(1).split('&').map((part) => part.split('=')));
  const kind = values.get('view');
  const label = Number(values.get('frame'));
  const known = kind === 'sandwich' && baseKind !== 'sandwich' && values.has('frame') && Number.isInteger(label) && label >= 0 &&
      base.frames.some((value, at) => at >= STRIDE && at % STRIDE === 1 && value === label);
  const turned = baseKind !== 'sandwich' && (kind === 'inverted' || kind === 'flame');
  choose(known || turned ? kind : baseKind, known ? label : -1);
  const zoom = Number(values.get('zoom') || 0);
  state.zoom = Number.isInteger(zoom) && zoom > 0 && zoom < view.count ? zoom : 0;
  state.focus = state.zoom;
  try {
    state.pattern = decodeURIComponent(values.get('search') || '');
  } catch (error) {
    state.pattern = '';
  }
  bar.input.value = state.pattern;
  layOut();
  search(state.pattern, true);
}

// ---- search ----

const isMatch = (i) => matches !== null && !isAll(i) && matches[labelOf(i)] === 1;

function compile(pattern) {
  if (!pattern) return null;
  const expression = new RegExp(pattern, /[A-Z]/.test(pattern.replace(/\\./g, '')) ? '' : 'i');
  const hits = new Uint8Array(data.labels.length / 2);
  for (let label = 0; label < hits.length; ++label) hits[label] = expression.test(data.labels[2 * label]) ? 1 : 0;
  return hits;
}

// The width of a match includes the matches above it, so only the outermost match of each path counts.
function matchedTotals(of, first) {
  const sum = { weight: 0, ns: 0, frames: 0 };
  const hit = (i) => (i !== 0 || of !== base || baseKind === 'sandwich') && matches[of.frames[i * STRIDE + 1]] === 1;
  for (let i = first; i < of.end[first]; ++i) {
    if (!hit(i)) continue;
    sum.weight += of.frames[i * STRIDE + data.weight];
    sum.ns += of.frames[i * STRIDE + NS];
    for (const last = of.end[i]; i < last; ++i) sum.frames += hit(i) ? 1 : 0;
    --i;
  }
  return sum;
}

// Describes the matches in the complete picture, whatever the view, and in the zoomed part of the current view.
function statusText() {
  const sum = matchedTotals(base, 0);
  if (sum.frames === 0) return 'No match';
  // In a sandwich, callers and callees have the same width, so the sum of their widths is not a share of anything.
  if (baseKind === 'sandwich') return 'Matched ' + grouped(sum.frames) + (sum.frames === 1 ? ' frame' : ' frames');
  const within = state.zoom ? percent(matchedTotals(view, state.zoom).weight, widthOf(state.zoom)) : '';
  const parts = ['Matched ' + percent(sum.weight, whole()) + (state.zoom ? ' (' + within + ' of zoomed)' : '')];
  if (data.weight === COUNT) parts.push(counted(sum.weight));
  if (data.weight === BYTES) parts.push(exactBytes(sum.weight, data.bytesName));
  if (sum.ns > 0) parts.push(exactNs(sum.ns));
  parts.push(grouped(sum.frames) + (sum.frames === 1 ? ' frame' : ' frames'));
  return parts.join(', ');
}

// Marks the drawn frames that match. `quiet`: does not change the address.
function search(pattern, quiet) {
  let error = '';
  try {
    matches = compile(pattern);
    state.pattern = pattern;
  } catch (problem) {
    matches = null;
    state.pattern = '';
    error = problem.message;
  }
  bar.input.setAttribute('aria-invalid', error !== '');
  bar.status.className = error ? 'error' : '';
  bar.status.textContent = error || (matches === null ? '' : statusText());
  for (const [i, element] of drawn) element.classList.toggle('hit', isMatch(i));
  layer.classList.toggle('searched', matches !== null);
  if (!quiet) remember(false);
}

function stepMatch(direction) {
  const order = Array.from(drawn.keys()).filter(isMatch).sort((a, b) => a - b);
  if (order.length === 0) return;
  const after = order.findIndex((i) => i > state.focus);
  const before = order.filter((i) => i < state.focus).length - 1;
  const at = direction > 0 ? (after < 0 ? 0 : after) : before < 0 ? order.length - 1 : before;
  focusFrame(order[at]);
}
