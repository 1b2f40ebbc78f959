// Redraws the heat map at the window's width. Shows the command for a flame graph of the time range that the user
// selects. Runs inside its SVG, after svg_shared.js. Uses no network.
(function () {
  'use strict';

  const data = JSON.parse(byId('gp-data').textContent);
  const cells = data.cells;
  const columns = Math.ceil(cells.length / data.rows);
  const most = cells.reduce((a, b) => Math.max(a, b), 0);
  const total = cells.reduce((a, b) => a + b, 0);
  const layer = byId('gp-cells');
  const head = byId('gp-head');
  const GAP_FROM = 5;  // in px: cells of this size or larger have a gap of one pixel between them

  // Indexes of the selected, hovered and keyboard-focused cells. -1: no cell.
  const state = { from: -1, to: -1, anchor: -1, hover: -1, cursor: 0, dragging: false, width: 0 };
  const place = { top: 0, column: 0 };  // in px: the top of the map, and the width of a column

  // ---- texts ----

  const beginOf = (i) => data.startNs + i * data.cellNs;

  // Formats a time as the command's options expect it, exact to the nanosecond.
  function seconds(ns) {
    const whole = Math.floor(ns / 1e9);
    const rest = String(ns - whole * 1e9).padStart(9, '0').replace(/0+$/, '');
    return whole + (rest ? '.' + rest : '') + 's';
  }

  function exact(value) {
    return [exactNs, counted, (sum) => exactBytes(sum, data.bytesName)][data.kind](value);
  }

  const recordedOf = (i) => (i in data.recordedNs ? data.recordedNs[i] : data.cellNs);
  const notRecorded = (i) => cells[i] === 0 && recordedOf(i) === 0;

  function sumText(from, to) {
    let sum = 0;
    let recorded = 0;
    for (let i = from; i <= to; ++i) {
      sum += cells[i];
      recorded += recordedOf(i);
    }
    const time = (to - from + 1) * data.cellNs;
    if (sum === 0 && recorded === 0) return data.notRecorded;
    const text = exact(sum) + ', ' + percent(sum, total) + ' of total';
    if (recorded === time) return text;
    return text + (data.byWindowStart ? ', estimated from windows of ' + duration(recorded)
                                      : ', recorded for ' + duration(recorded) + ' of ' + duration(time));
  }

  const windowText = (from, to) => seconds(beginOf(from)) + ' to ' + seconds(beginOf(to + 1));

  // Returns the command for the selected window. The file name of a picture contains the window.
  function command(picture) {
    const from = seconds(beginOf(state.from));
    const to = seconds(beginOf(state.to + 1));
    return data.command + ' --from ' + from + ' --to ' + to + (data.commandOptions ? ' ' + data.commandOptions : '') +
        (picture ? ' --svg flame-' + from + '-' + to + '.svg' : '');
  }

  // ---- below the map: the selection ----

  const panel = {};

  function commandRow(label, id) {
    const row = make(HTML, 'div', {});
    const text = make(HTML, 'code', { id });
    const button = make(HTML, 'button', { type: 'button' }, 'Copy');
    button.addEventListener('click', () => copy(text, button));
    row.append(make(HTML, 'span', {}, label), text, button);
    panel.body.append(row);
    return { row, text, button };
  }

  // Copies the text. If the viewer has no clipboard, selects the text so that the user can copy it.
  function copy(text, button) {
    window.getSelection().selectAllChildren(text);
    const failed = () => { button.textContent = 'Press Ctrl-C'; };
    if (!navigator.clipboard) {
      failed();
      return;
    }
    navigator.clipboard.writeText(text.textContent).then(() => { button.textContent = 'Copied'; }, failed);
  }

  function makePanel() {
    panel.box = make(SVG, 'foreignObject', { id: 'gp-panel', x: data.pad, height: 10 });
    panel.body = make(HTML, 'div', { class: 'gp-panel' });
    panel.selected = make(HTML, 'p', { id: 'gp-selected', role: 'status', 'aria-live': 'polite' });
    panel.body.append(panel.selected);
    panel.folded = commandRow('Folded stacks', 'gp-command');
    panel.picture = commandRow('Flame graph', 'gp-command-svg');
    panel.box.append(panel.body);
    svg.append(panel.box);
  }

  function showPanel() {
    const selected = state.from >= 0;
    panel.selected.textContent = selected
      ? 'Selected: ' + windowText(state.from, state.to) + ', ' + sumText(state.from, state.to)
      : 'Drag across the map, or hold Shift with the arrow keys, to get the command that folds the selected time range.';
    for (const [row, picture] of [[panel.folded, false], [panel.picture, true]]) {
      row.row.hidden = !selected;
      row.button.textContent = 'Copy';
      row.text.textContent = selected ? command(picture) : '';
    }
    layPanel();
  }

  // ---- the map ----

  const outline = make(SVG, 'path', { id: 'gp-selection', visibility: 'hidden' });
  const ring = make(SVG, 'rect', { id: 'gp-cursor', visibility: 'hidden' });

  const columnOf = (i) => Math.floor(i / data.rows);
  const xOf = (i) => data.left + columnOf(i) * place.column;
  const yOf = (i) => place.top + (i % data.rows) * data.rowHeight;

  function drawCells() {
    const width = (place.column - (place.column >= GAP_FROM ? 1 : 0)).toFixed(2);
    const height = data.rowHeight - (data.rowHeight >= GAP_FROM ? 1 : 0);
    const levels = Array.from({ length: data.levels + 2 }, (_, i) =>
      make(SVG, 'g', { class: i > data.levels ? 'hx' : 'h' + i }));
    cells.forEach((value, i) => {
      const level = notRecorded(i) ? data.levels + 1 : most > 0 ? Math.ceil((value * data.levels) / most) : 0;
      levels[level].append(make(SVG, 'rect', { x: xOf(i).toFixed(2), y: yOf(i), width, height }));
    });
    layer.replaceChildren(...levels);
  }

  function drawAxes() {
    const axes = byId('gp-axes');
    axes.replaceChildren();
    const step = [1, 2, 5, 10, 20, 30, 60].find((count) => count * place.column >= data.tick) || columns;
    const below = place.top + data.rows * data.rowHeight + 15;
    for (let column = 0; column < columns; column += step) {
      const x = data.left + column * place.column;
      if (column > 0 && x + data.tick > state.width) continue;
      axes.append(make(SVG, 'text', { x: x.toFixed(2), y: below }, seconds(beginOf(column * data.rows))));
    }
    for (let row = 0; data.rows > 1 && row < data.rows; row += Math.max(Math.floor(data.rows / 2), 1)) {
      axes.append(make(SVG, 'text', { x: data.pad, y: place.top + row * data.rowHeight + 11 },
                       '+' + seconds(row * data.cellNs)));
    }
  }

  // Outlines the selected cells. The selection may begin and end within a column.
  function drawSelection() {
    outline.setAttribute('visibility', state.from >= 0 ? 'visible' : 'hidden');
    if (state.from < 0) return;
    const [left, lastLeft] = [xOf(state.from), xOf(state.to)];
    const [inner, right] = [left + place.column, lastLeft + place.column];
    const [first, last] = [yOf(state.from), yOf(state.to) + data.rowHeight];
    const bottom = place.top + data.rows * data.rowHeight;
    const corners = columnOf(state.from) === columnOf(state.to)
      ? [[left, first], [right, first], [right, last], [left, last]]
      : [[left, first], [inner, first], [inner, place.top], [right, place.top], [right, last], [lastLeft, last],
         [lastLeft, bottom], [left, bottom]];
    outline.setAttribute('d', 'M' + corners.map(([x, y]) => x.toFixed(2) + ' ' + y).join('L') + 'Z');
  }

  function drawCursor() {
    const shown = document.activeElement === layer && layer.matches(':focus-visible');
    ring.setAttribute('visibility', shown ? 'visible' : 'hidden');
    ring.setAttribute('x', xOf(state.cursor).toFixed(2));
    ring.setAttribute('y', yOf(state.cursor));
    ring.setAttribute('width', place.column.toFixed(2));
    ring.setAttribute('height', data.rowHeight);
  }

  function showDetails() {
    const held = document.activeElement === layer && layer.matches(':focus-visible') ? state.cursor : -1;
    const i = state.hover >= 0 ? state.hover : held;
    const room = state.width - 2 * data.pad;
    cutToPixels(byId('gp-name'), i < 0 ? data.hint : windowText(i, i), room);
    cutToPixels(byId('gp-details-hint'), i < 0
      ? 'Drag selects, Shift-click and Shift with arrow keys extend, Esc clears' : sumText(i, i), room);
  }

  // ---- layout ----

  function layHeader() {
    const room = state.width - 2 * data.pad;
    const texts = { 'gp-title': data.title, 'gp-subtitle': data.subtitle, 'gp-facts': data.facts, 'gp-total': data.total };
    let y = 6;
    for (const block of head.querySelectorAll('[data-h]')) {
      let more = 0;
      if (block.id in texts) {
        const high = block.id === 'gp-title' ? 22 : 16;
        more = high * (wrapToPixels(block.firstChild, texts[block.id], room, 4, high) - 1);
      }
      block.setAttribute('transform', 'translate(0,' + y + ')');
      if (block.id === 'gp-notice') {
        more = 16 * (wrapToPixels(block.querySelector('text'), data.notice, room - 2 * data.pad, 12) - 1);
        block.querySelector('rect').setAttribute('width', Math.max(room, 0));
        block.querySelector('rect').setAttribute('height', 22 + more);
      }
      y += block.id === 'gp-legend' ? layLegend(block, state.width, data.pad) : Number(block.dataset.h) + more;
    }
    byId('gp-rule').setAttribute('x2', state.width);
    byId('gp-band').setAttribute('width', state.width);
    byId('gp-band').setAttribute('height', y);
    return y;
  }

  function layPanel() {
    const y = place.top + data.rows * data.rowHeight + data.axis + 6;
    panel.box.setAttribute('y', y);
    panel.box.setAttribute('width', Math.max(state.width - 2 * data.pad, 0));
    const height = Math.ceil(panel.body.getBoundingClientRect().height) + 4;
    panel.box.setAttribute('height', height);
    for (const element of [svg, byId('gp-page')]) {
      element.setAttribute('width', state.width);
      element.setAttribute('height', y + height + data.pad);
    }
  }

  function layOut() {
    state.width = Math.max(availableWidth(), 200);
    place.top = layHeader() + 4;
    place.column = Math.max(state.width - data.left - data.pad, 1) / columns;
    drawCells();
    drawAxes();
    drawSelection();
    drawCursor();
    showDetails();
    layPanel();
  }

  // ---- selection, and the address that restores it ----

  function select(from, to) {
    state.from = Math.min(from, to);
    state.to = Math.max(from, to);
    drawSelection();
    showPanel();
  }

  function remember() {
    const hash = state.from >= 0 ? '#select=' + state.from + '-' + state.to : '#';
    try {
      history.replaceState(null, '', hash);
    } catch (error) {
      // A sandboxed viewer may refuse to change the address. The picture works without it.
    }
  }

  function clear() {
    state.anchor = -1;
    select(-1, -1);
    remember();
  }

  function restore() {
    const found = /^#select=(\d+)-(\d+)$/.exec(location.hash);
    const [from, to] = found ? [Number(found[1]), Number(found[2])] : [-1, -1];
    const fits = from >= 0 && from <= to && to < cells.length;
    state.anchor = fits ? from : -1;
    select(fits ? from : -1, fits ? to : -1);
  }

  // Returns the cell below the pointer. During a drag, returns the nearest cell.
  function cellAt(event) {
    const box = svg.getBoundingClientRect();
    const x = event.clientX - box.left - data.left;
    const y = event.clientY - box.top - place.top;
    const outside = x < 0 || y < 0 || x >= columns * place.column || y >= data.rows * data.rowHeight;
    if (outside && !state.dragging) return -1;
    const within = (value, count) => Math.min(Math.max(Math.floor(value), 0), count - 1);
    const i = within(x / place.column, columns) * data.rows + within(y / data.rowHeight, data.rows);
    if (i < cells.length) return i;
    return state.dragging ? cells.length - 1 : -1;
  }

  function onPress(event) {
    const i = cellAt(event);
    if (event.button !== 0 || i < 0) return;
    event.preventDefault();
    layer.focus({ preventScroll: true, focusVisible: false });
    layer.setPointerCapture(event.pointerId);
    state.dragging = true;
    state.cursor = i;
    if (!event.shiftKey || state.anchor < 0) state.anchor = i;
    select(state.anchor, i);
  }

  function onMove(event) {
    const i = cellAt(event);
    if (i === state.hover) return;
    state.hover = i;
    if (state.dragging) {
      state.cursor = i;
      select(state.anchor, i);
    }
    showDetails();
  }

  function onRelease() {
    if (!state.dragging) return;
    state.dragging = false;
    remember();
  }

  function onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === 'Escape') {
      clear();
      return;
    }
    if (document.activeElement !== layer) return;
    const steps = { ArrowUp: -1, ArrowDown: 1, ArrowLeft: -data.rows, ArrowRight: data.rows, Home: -cells.length,
                    End: cells.length, Enter: 0, ' ': 0 };
    if (!(event.key in steps)) return;
    event.preventDefault();
    state.hover = -1;
    const next = state.cursor + steps[event.key];
    if (event.shiftKey && state.anchor < 0) state.anchor = state.cursor;
    state.cursor = Math.min(Math.max(next, 0), cells.length - 1);
    if (steps[event.key] === 0) state.anchor = state.cursor;
    if (event.shiftKey || steps[event.key] === 0) {
      select(state.anchor, state.cursor);
      remember();
    } else {
      state.anchor = -1;
    }
    drawCursor();
    showDetails();
  }

  function begin() {
    svg.removeAttribute('viewBox');
    svg.setAttribute('role', 'group');
    svg.setAttribute('aria-label', data.title);
    svg.classList.add('gp-live');
    layer.setAttribute('tabindex', 0);
    layer.setAttribute('role', 'application');
    layer.setAttribute('aria-label', 'Heat map over time: arrow keys move, Shift extends the selection');
    layer.after(outline, ring);
    makePanel();
    layOut();
    restore();

    layer.addEventListener('pointerdown', onPress);
    layer.addEventListener('focus', () => { drawCursor(); showDetails(); });
    layer.addEventListener('blur', () => { drawCursor(); showDetails(); });
    svg.addEventListener('pointermove', onMove);
    svg.addEventListener('pointerleave', onMove);
    svg.addEventListener('pointerup', onRelease);
    svg.addEventListener('pointercancel', onRelease);
    listen(onKey, restore, layOut);
  }

  // Without cells, there is nothing to select. The static picture explains why.
  if (cells.length > 0) begin();
})();
