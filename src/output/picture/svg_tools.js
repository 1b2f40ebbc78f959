// The bar of tools, the map of the complete picture, and the files that contain the shown part.

// ---- the bar ----

function makeBar() {
  const box = make(SVG, 'foreignObject', { id: 'gp-tools', y: 4 });
  const body = make(HTML, 'div', { class: 'gp-bar' });
  const row = make(HTML, 'div', { role: 'search' });
  const lower = make(HTML, 'div', { class: 'gp-lower' });
  const views = make(HTML, 'div', { role: 'toolbar', 'aria-label': 'Views and files' });
  const button = (id, text, title, act) => {
    const made = make(HTML, 'button', { type: 'button', id, title }, text);
    made.addEventListener('click', act);
    return made;
  };
  const input = make(HTML, 'input', {
    type: 'search', id: 'gp-search', 'aria-label': 'Search frames by regular expression', spellcheck: 'false',
    autocomplete: 'off', placeholder: 'Regular expression  ( / or Ctrl-F )',
    title: 'Ignores case unless the expression contains a capital letter. Enter: next match. Esc: clear.',
  });
  input.addEventListener('input', () => search(input.value));
  const toSearch = () => {
    input.focus();
    input.select();
  };
  const reset = button('gp-reset', 'Reset zoom', 'Esc', () => zoomTo(0));
  const inverted = button('gp-inverted', 'Inverted', 'From the leaves to their callers (i)', toggleInverted);
  const sandwich = button('gp-sandwich', 'Sandwich', 'All callers and callees of the chosen frame (s)', toggleSandwich);
  const saves = [button('gp-save-svg', 'Save SVG', 'Save the shown part as a separate picture', saveSvg),
                 button('gp-save-folded', 'Save folded', 'Save the shown part as folded stacks', saveFolded)];
  const status = make(HTML, 'p', { id: 'gp-matched', role: 'status', 'aria-live': 'polite' });
  row.append(input, button('gp-search-button', 'Search', '/', toSearch), reset);
  views.append(inverted, sandwich, ...saves);
  lower.append(status, views);
  body.append(row, lower);
  box.append(body);
  head.append(box);
  return {
    input, status, toSearch,
    // Sets the size and returns the height, with two lines for the status. They are beside the views if they fit.
    lay(x, width) {
      box.setAttribute('x', x);
      box.setAttribute('width', width);
      const below = status.getBoundingClientRect().top >= views.getBoundingClientRect().bottom;
      const height = below ? 95 : 68;
      box.setAttribute('height', height);
      return height;
    },
    showState() {
      reset.disabled = state.zoom === 0;
      inverted.setAttribute('aria-pressed', state.kind === 'inverted');
      sandwich.setAttribute('aria-pressed', state.kind === 'sandwich');
      for (const turn of [inverted, sandwich]) turn.disabled = baseKind === 'sandwich';
      saves[0].disabled = whole() === 0;
      // In a sandwich, no stack passes through both the callers and the callees.
      saves[1].disabled = whole() === 0 || state.kind === 'sandwich';
    },
    say(text) {
      status.className = '';
      status.textContent = text;
    },
  };
}

// ---- the map: the complete view in a strip, with the shown part marked ----

function makeMap() {
  const HEIGHT = 32;
  const block = make(SVG, 'g', { id: 'gp-map', 'data-h': HEIGHT + 14 });
  const title = make(SVG, 'title', {}, 'The whole picture: click to zoom to what is there');
  const page = make(SVG, 'rect', { id: 'gp-map-page', x: data.pad, y: 6, height: HEIGHT });
  const shapes = make(SVG, 'g', { transform: 'translate(0,6)' });
  const mark = make(SVG, 'rect', { id: 'gp-map-mark', y: 6, height: HEIGHT });
  block.append(title, page, shapes, mark);
  byId('gp-details').before(block);
  let drawnAt = 0;  // width at which the map was last drawn; 0 if it was not drawn
  const room = () => Math.max(state.width - 2 * data.pad, 1);
  let extent = { up: 1, down: 0 };  // rows that the drawn frames take above and below the root
  const rowHeight = () => HEIGHT / (extent.up + extent.down);

  function drawAll() {
    const scale = widthOf(0) > 0 ? room() / widthOf(0) : 0;
    extent = rowsOf(0, room());
    const paths = new Map();
    for (let i = 0; i < view.count;) {
      const width = widthOf(i) * scale;
      if (width < 0.4 || rowOf(i) >= extent.up || -rowOf(i) > extent.down) {
        i = view.end[i];
        continue;
      }
      const y = (extent.up - 1 - rowOf(i)) * rowHeight();
      const style = shadeOf(i);
      const box = 'M' + (data.pad + view.start[i] * scale).toFixed(1) + ' ' + y.toFixed(2) + 'h' + width.toFixed(1) + 'v' +
          rowHeight().toFixed(2) + 'h-' + width.toFixed(1) + 'z';
      if (!paths.has(style)) paths.set(style, []);
      paths.get(style).push(box);
      ++i;
    }
    shapes.replaceChildren(...Array.from(paths, ([style, boxes]) => {
      const group = make(SVG, 'g', { class: style });
      group.append(make(SVG, 'path', { d: boxes.join('') }));
      return group;
    }));
    page.setAttribute('width', room());
    drawnAt = state.width;
  }

  block.addEventListener('click', (event) => {
    const box = page.getBoundingClientRect();
    const at = ((event.clientX - box.left) / room()) * widthOf(0);
    const row = extent.up - 1 - Math.floor((event.clientY - box.top) / rowHeight());
    let found = 0;
    for (let i = 1; i < view.count;) {
      const inside = at >= view.start[i] && at < view.start[i] + widthOf(i) && (rowOf(i) > 0) === (row > 0);
      if (!inside || Math.abs(rowOf(i)) > Math.abs(row)) {
        i = view.end[i];
      } else {
        found = i++;
      }
    }
    zoomTo(found);
  });

  return {
    forget() { drawnAt = 0; },
    showZoom() {
      if (drawnAt !== state.width) drawAll();
      const scale = widthOf(0) > 0 ? room() / widthOf(0) : 0;
      mark.setAttribute('x', data.pad + view.start[state.zoom] * scale);
      mark.setAttribute('width', Math.max(widthOf(state.zoom) * scale, 2));
      mark.setAttribute('visibility', state.zoom === 0 ? 'hidden' : 'visible');
    },
  };
}

// ---- files ----

function save(name, type, text) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = make(HTML, 'a', { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60000);
  bar.say('Saved as ' + name);
}

const partName = () => state.kind + (state.zoom === 0 ? '' : '-' + state.zoom);

// Returns an array like data.frames with the zoomed frame's subtree, and its callers with the weight of the zoomed
// frame. In a sandwich, `split` is the number of frames that are not below the root.
function shownPart() {
  const part = [];
  let split = 0;
  const put = (i, weights) => {
    part.push(depthOf(i), labelOf(i), ...weights);
    if (i < view.split) ++split;
  };
  const weightsOf = (i) => view.frames.slice(i * STRIDE + NS, i * STRIDE + STRIDE);
  const path = [];
  for (let i = view.parent[state.zoom]; i >= 0; i = view.parent[i]) path.unshift(i);
  for (const i of path) put(i, weightsOf(state.zoom));
  for (let i = state.zoom; i < view.end[state.zoom]; ++i) put(i, weightsOf(i));
  return { frames: part, split: state.kind === 'sandwich' ? split : undefined };
}

const SUFFIXES = { k: '_[k]', g: '_[G]', d: '_[g]' };  // suffixes of frame classes in folded stacks

function foldedText() {
  const part = indexed(shownPart().frames, data.weight);
  const own = ownWeights(part);
  const path = [];
  const lines = [];
  for (let i = 0; i < part.count; ++i) {
    const label = part.frames[i * STRIDE + 1];
    path.length = part.frames[i * STRIDE];
    path.push(data.labels[2 * label].replace(/;/g, ':') + (SUFFIXES[data.labels[2 * label + 1][0]] || ''));
    const value = own[3 * i + data.weight - NS];
    if (value > 0) lines.push((path.slice(1).join(';') || path[0]) + ' ' + value + '\n');
  }
  return lines.join('');
}

// Returns this file with only the data of the shown part. Removes elements that the script of the new file makes again.
function svgText() {
  const own = {
    [NS]: exactNs, [COUNT]: counted,
    [BYTES]: (value) => exactBytes(value, data.bytesName),
  }[data.weight];
  const part = Object.assign({}, data, { cut: undefined,
    ...shownPart(), inverted: state.kind === 'inverted', hint: hint(),
    total: isAll(state.zoom) ? data.total : 'Total of this part: ' + (data.difference ? changeNumbers(state.zoom) : own(widthOf(state.zoom))),
  });
  const used = new Map();
  part.labels = [];
  for (let at = 1; at < part.frames.length; at += STRIDE) {
    const label = part.frames[at];
    if (!used.has(label)) {
      used.set(label, part.labels.length / 2);
      part.labels.push(data.labels[2 * label], data.labels[2 * label + 1]);
    }
    part.frames[at] = used.get(label);
  }
  const copy = svg.cloneNode(true);
  copy.removeAttribute('class');
  for (const id of ['gp-tools', 'gp-ring', 'gp-map']) copy.querySelector('#' + id).remove();
  copy.querySelector('#gp-head').removeAttribute('transform');
  copy.querySelector('#gp-total text').textContent = part.total;
  copy.querySelector('#gp-data').textContent = JSON.stringify(part);
  copy.setAttribute('viewBox', '0 0 ' + svg.getAttribute('width') + ' ' + svg.getAttribute('height'));
  copy.setAttribute('role', 'img');
  return '<?xml version="1.0" encoding="UTF-8"?>\n' + new XMLSerializer().serializeToString(copy) + '\n';
}

function saveSvg() {
  save(partName() + '.svg', 'image/svg+xml', svgText());
}

function saveFolded() {
  save(partName() + '.folded', 'text/plain', foldedText());
}

const bar = makeBar();
const map = makeMap();
