// Redraws the flame graph at the window's width, with zoom, search and keyboard. Runs inside the SVG that holds it,
// behind svg_shared.js; reads #gp-data, written beside it, and touches no network. Names reach the page as text nodes
// only.
(function () {
  'use strict';

  const data = JSON.parse(byId('gp-data').textContent);

  // A frame is five numbers in a row: depth, label, ns, count, bytes.
  const STRIDE = 5;
  const frames = data.frames;
  const count = frames.length / STRIDE;
  const depthOf = (i) => frames[i * STRIDE];
  const labelOf = (i) => frames[i * STRIDE + 1];
  const nameOf = (i) => data.labels[2 * labelOf(i)];
  const styleOf = (i) => data.labels[2 * labelOf(i) + 1];
  const widthOf = (i) => frames[i * STRIDE + data.weight];
  const [NS, COUNT, BYTES] = [2, 3, 4];

  // Of a differential picture: a frame's bytes are what the other measurement has of its width.
  const otherOf = (i) => frames[i * STRIDE + BYTES];
  const beforeAfter = (i) => (data.difference.showsNew ? [otherOf(i), widthOf(i)] : [widthOf(i), otherOf(i)]);

  function shadeOf(i) {
    if (!data.difference) return styleOf(i);
    const [before, after] = beforeAfter(i);
    const most = Math.max(before, after);
    const change = most > 0 ? (after - before) / most : 0;
    const step = data.difference.steps.filter((least) => Math.abs(change) >= least).length;
    return step === 0 ? 'e0' : (change > 0 ? 'r' : 'b') + (step - 1);
  }

  const parent = new Int32Array(count);    // -1: the root
  const end = new Int32Array(count);       // one past the last frame of the subtree
  const start = new Float64Array(count);   // left edge, in units of the weight
  let levels = 1;

  const state = { zoom: 0, focus: 0, hover: -1, width: 0, pattern: '' };
  const drawn = new Map();                 // frame -> its element
  let rows = [];                           // drawn frames by depth, left to right
  let matches = null;                      // Uint8Array by label while a search is on
  let advance = 6.65;                      // px of one column of a frame's text

  function index() {
    const open = [];
    const next = [];
    for (let i = 0; i < count; ++i) {
      const depth = depthOf(i);
      while (open.length > depth) end[open.pop()] = i;
      parent[i] = depth > 0 ? open[depth - 1] : -1;
      start[i] = depth > 0 ? next[depth - 1] : 0;
      if (depth > 0) next[depth - 1] += widthOf(i);
      next[depth] = start[i];
      open.push(i);
      levels = Math.max(levels, depth + 1);
    }
    while (open.length > 0) end[open.pop()] = count;
  }

  function changeNumbers(i) {
    const exact = data.weight === NS ? exactNs : (value) => grouped(value) + ' ' + data.countName;
    const [before, after] = beforeAfter(i);
    const texts = ['old ' + exact(before), 'new ' + exact(after)];
    const percents = before > 0 ? 100 * (after / before - 1) : 0;
    if (before > 0) texts.push((percents < 0 ? '' : '+') + percents.toFixed(1) + '%');
    texts.push(percent(widthOf(i), widthOf(0)) + ' of total');
    return texts.join(', ');
  }

  function numbers(i) {
    if (data.difference) return changeNumbers(i);
    const at = i * STRIDE;
    const parts = [[NS, exactNs(frames[at + NS])], [COUNT, grouped(frames[at + COUNT]) + ' ' + data.countName],
                   [BYTES, exactBytes(frames[at + BYTES])]];
    const texts = [parts[data.weight - NS][1], percent(widthOf(i), widthOf(0)) + ' of total'];
    if (i > state.zoom && i < end[state.zoom] && state.zoom !== 0) texts.push(percent(widthOf(i), widthOf(state.zoom)) + ' of zoomed');
    for (const [kind, text] of parts) {
      if (kind !== data.weight && frames[at + kind] > 0) texts.push(text);
    }
    return texts.join(', ');
  }

  const className = (i) => (i === 0 ? '' : data.classes[styleOf(i)[0]]);

  // ---- elements ----

  const WIDE = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\u{1f300}-\u{3fffd}]/u;

  const LEAST_COLUMNS = 5;  // of a cut label: less says nothing

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
  const BAR_HEIGHT = 54;
  let headerHeight = 0;
  const bar = {};

  function makeBar() {
    bar.box = make(SVG, 'foreignObject', { id: 'gp-tools', width: BAR_WIDTH, height: BAR_HEIGHT, y: 4 });
    const body = make(HTML, 'div', { class: 'gp-bar' });
    const row = make(HTML, 'div', { role: 'search' });
    bar.input = make(HTML, 'input', {
      type: 'search', id: 'gp-search', 'aria-label': 'Search frames by regular expression', spellcheck: 'false',
      autocomplete: 'off', placeholder: 'Regular expression  ( / or Ctrl-F )',
      title: 'Ignores case unless the expression holds a capital. Enter: next match. Esc: clear.',
    });
    bar.search = make(HTML, 'button', { type: 'button', id: 'gp-search-button' }, 'Search');
    bar.reset = make(HTML, 'button', { type: 'button', id: 'gp-reset' }, 'Reset zoom');
    bar.status = make(HTML, 'p', { id: 'gp-matched', role: 'status', 'aria-live': 'polite' });
    row.append(bar.input, bar.search, bar.reset);
    body.append(row, bar.status);
    bar.box.append(body);
    head.append(bar.box);
    bar.input.addEventListener('input', () => search(bar.input.value));
    bar.search.addEventListener('click', () => {
      bar.input.focus();
      bar.input.select();
    });
    bar.reset.addEventListener('click', () => zoomTo(0));
  }

  // Stacks the header's blocks at this width; the tools stand beside the title, or above it where that is too narrow.
  function layHeader(width) {
    const beside = width >= 860;
    const room = width - 2 * data.pad;
    const texts = { 'gp-title': data.title, 'gp-subtitle': data.subtitle, 'gp-total': data.total };
    let y = beside ? 6 : 6 + BAR_HEIGHT;
    bar.box.setAttribute('x', beside ? width - data.pad - BAR_WIDTH : data.pad);
    bar.box.setAttribute('width', beside ? BAR_WIDTH : room);
    for (const block of head.querySelectorAll('[data-h]')) {
      if (block.id in texts) {
        cutToPixels(block.firstChild, texts[block.id], beside ? room - BAR_WIDTH - 20 : room);
      } else if (beside) {
        y = Math.max(y, BAR_HEIGHT + 8);
      }
      block.setAttribute('transform', 'translate(0,' + y + ')');
      y += block.id === 'gp-legend' ? layLegend(block, width, data.pad) : Number(block.dataset.h);
      if (block.id !== 'gp-notice') continue;
      block.querySelector('rect').setAttribute('width', Math.max(room, 0));
      cutToPixels(block.querySelector('text'), data.notice, room - 2 * data.pad);
    }
    byId('gp-rule').setAttribute('x2', width);
    byId('gp-band').setAttribute('width', width);
    byId('gp-band').setAttribute('height', y);
    headerHeight = y;
  }

  function showDetails() {
    const i = state.hover >= 0 ? state.hover : document.activeElement === drawn.get(state.focus) ? state.focus : -1;
    const room = state.width - 2 * data.pad;
    if (i < 0) {
      const zoomed = state.zoom !== 0;
      cutToPixels(details.name, zoomed ? 'Zoomed: ' + nameOf(state.zoom) : data.hint, room);
      cutToPixels(details.numbers, zoomed ? numbers(state.zoom) :
          'Click or Enter zooms, Esc resets, arrow keys move between frames, / searches, n and N step through matches',
          room);
      return;
    }
    const kind = className(i);
    cutToPixels(details.name, nameOf(i), room);
    cutToPixels(details.numbers, numbers(i) + (kind ? ' \u2014 ' + kind : ''), room);
  }

  // The header stays in sight while a tall graph scrolls under it.
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

  // The narrowest width to draw, in units of the weight: what the eye can tell apart, and not more frames than a
  // browser draws at once without a wait.
  function leastDrawn(scale) {
    const wide = [];
    const least = data.minWidth / scale;
    for (let i = state.zoom; i < end[state.zoom];) {
      if (widthOf(i) >= least) wide.push(widthOf(i++)); else i = end[i];
    }
    if (wide.length <= data.drawnFrames) return least;
    wide.sort((a, b) => b - a);
    return wide[data.drawnFrames] + 1;
  }

  function draw() {
    const room = Math.max(state.width - 2 * data.pad, 1);
    const top = headerHeight + 4 + (byId('gp-empty') ? 60 : 0);
    const height = top + levels * data.rowHeight + data.pad;
    const whole = widthOf(state.zoom);
    const scale = whole > 0 ? room / whole : 0;
    const least = leastDrawn(scale);
    const held = document.activeElement;
    const hadFocus = held !== null && layer.contains(held);
    drawn.clear();
    rows = Array.from({ length: levels }, () => []);
    const made = document.createDocumentFragment();
    const put = (i, x, width, above) => {
      const y = top + (levels - 1 - depthOf(i)) * data.rowHeight;
      const element = frameElement(i, x, y, width, above);
      drawn.set(i, element);
      rows[depthOf(i)].push(i);
      made.append(element);
    };
    if (!visibleFocus()) state.focus = state.zoom;
    for (let i = parent[state.zoom]; i >= 0; i = parent[i]) put(i, data.pad, room, true);
    for (let i = state.zoom; i < end[state.zoom];) {
      if (i !== state.zoom && widthOf(i) < least) {
        i = end[i];
        continue;
      }
      const wide = i === state.zoom ? room : widthOf(i) * scale;
      put(i, data.pad + (start[i] - start[state.zoom]) * scale, wide, false);
      ++i;
    }
    if (!drawn.has(state.focus)) {
      state.focus = state.zoom;
      drawn.get(state.focus).setAttribute('tabindex', 0);
    }
    layer.classList.toggle('searched', matches !== null);
    layer.replaceChildren(made);
    svg.setAttribute('width', state.width);
    svg.setAttribute('height', height);
    byId('gp-page').setAttribute('width', state.width);
    byId('gp-page').setAttribute('height', height);
    if (byId('gp-empty')) byId('gp-empty').setAttribute('y', headerHeight + 36);
    if (hadFocus) drawn.get(state.focus).focus({ preventScroll: true });
    bar.reset.disabled = state.zoom === 0;
    showRing();
    showDetails();
    stickHeader();
  }

  // Whether the focused frame is among the zoomed frame's callers or callees.
  function visibleFocus() {
    const { focus, zoom } = state;
    return (focus >= zoom && focus < end[zoom]) || (zoom >= focus && zoom < end[focus]);
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
    // Alone in a window the document's element is the drawing itself; within a page its container gives the width.
    const container = svg === document.documentElement ? null : svg.parentElement;
    state.width = Math.max(container ? container.clientWidth : document.documentElement.clientWidth || innerWidth, 200);
    layHeader(state.width);
    draw();
  }

  // ---- zoom, and the address that restores it ----

  function remember(push) {
    const parts = [];
    if (state.zoom !== 0) parts.push('zoom=' + state.zoom);
    if (state.pattern) parts.push('search=' + encodeURIComponent(state.pattern));
    try {
      history[push ? 'pushState' : 'replaceState'](null, '', parts.length ? '#' + parts.join('&') : '#');
    } catch (error) {
      // A sandboxed viewer may refuse: the picture works without an address.
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

  function restore() {
    const values = new Map(location.hash.slice(1).split('&').map((part) => part.split('=')));
    const zoom = Number(values.get('zoom') || 0);
    state.zoom = Number.isInteger(zoom) && zoom > 0 && zoom < count ? zoom : 0;
    state.focus = state.zoom;
    try {
      state.pattern = decodeURIComponent(values.get('search') || '');
    } catch (error) {
      state.pattern = '';
    }
    bar.input.value = state.pattern;
    draw();
    search(state.pattern, true);
  }

  // ---- search ----

  const isMatch = (i) => matches !== null && i !== 0 && matches[labelOf(i)] === 1;

  function compile(pattern) {
    if (!pattern) return null;
    const expression = new RegExp(pattern, /[A-Z]/.test(pattern.replace(/\\./g, '')) ? '' : 'i');
    const hits = new Uint8Array(data.labels.length / 2);
    for (let label = 0; label < hits.length; ++label) hits[label] = expression.test(data.labels[2 * label]) ? 1 : 0;
    return hits;
  }

  // A match within a match is already part of its width: only the outermost of each path is added.
  function matchedTotals(first) {
    const sum = { weight: 0, ns: 0, frames: 0 };
    for (let i = first; i < end[first]; ++i) {
      if (!isMatch(i)) continue;
      sum.weight += widthOf(i);
      sum.ns += frames[i * STRIDE + NS];
      for (const last = end[i]; i < last; ++i) sum.frames += isMatch(i) ? 1 : 0;
      --i;
    }
    return sum;
  }

  function statusText() {
    const sum = matchedTotals(0);
    if (sum.frames === 0) return 'No match';
    const within = percent(matchedTotals(state.zoom).weight, widthOf(state.zoom));
    const parts = ['Matched ' + percent(sum.weight, widthOf(0)) + (state.zoom ? ' (' + within + ' of zoomed)' : '')];
    if (data.weight === COUNT) parts.push(grouped(sum.weight) + ' ' + data.countName);
    if (data.weight === BYTES) parts.push(exactBytes(sum.weight));
    if (sum.ns > 0) parts.push(exactNs(sum.ns));
    parts.push(grouped(sum.frames) + (sum.frames === 1 ? ' frame' : ' frames'));
    return parts.join(', ');
  }

  // Marks the drawn frames; `quiet` leaves the address alone.
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
    bar.status.title = bar.status.textContent;
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

  // ---- keyboard and pointer ----

  function focusFrame(i) {
    const element = drawn.get(i);
    if (!element) return;
    const old = drawn.get(state.focus);
    if (old) old.setAttribute('tabindex', -1);
    state.focus = i;
    state.hover = -1;
    element.setAttribute('tabindex', 0);
    element.focus({ preventScroll: true });
    const box = element.getBoundingClientRect();
    const covered = head.getBoundingClientRect().bottom;
    if (box.top < covered + 4) window.scrollBy(0, box.top - covered - 4);
    if (box.bottom > window.innerHeight) window.scrollBy(0, box.bottom - window.innerHeight + 4);
    showRing();
    showDetails();
  }

  // The frame that an arrow key leads to from the focused one.
  function neighbour(key) {
    const i = state.focus;
    if (key === 'ArrowDown') return parent[i];
    if (key === 'Home') return 0;
    if (key === 'ArrowUp') {
      const inPath = (child) => state.zoom >= child && state.zoom < end[child];
      const children = (rows[depthOf(i) + 1] || []).filter((child) => parent[child] === i);
      return children.reduce((best, child) =>
          best >= 0 && !inPath(child) && widthOf(child) <= widthOf(best) ? best : child, -1);
    }
    const row = rows[depthOf(i)];
    const at = row.indexOf(i) + (key === 'ArrowRight' ? 1 : -1);
    return at >= 0 && at < row.length ? row[at] : -1;
  }

  function onInputKey(event) {
    if (event.key === 'Escape') {
      bar.input.value = '';
      search('');
      focusFrame(state.focus);
    } else if (event.key === 'Enter') {
      stepMatch(event.shiftKey ? -1 : 1);
    } else {
      return;
    }
    event.preventDefault();
  }

  function onFrameKey(event) {
    if (event.key === 'Enter' || event.key === ' ') {
      zoomTo(state.focus);
    } else if (event.key.startsWith('Arrow') || event.key === 'Home') {
      const next = neighbour(event.key);
      if (next >= 0) focusFrame(next);
    } else {
      return;
    }
    event.preventDefault();
  }

  function onKey(event) {
    const find = (event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === 'f';
    const typing = event.target === bar.input;
    if (find || (event.key === '/' && !typing)) {
      event.preventDefault();
      bar.input.focus();
      bar.input.select();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (typing) {
      onInputKey(event);
    } else if (event.key === 'Escape') {
      if (state.zoom !== 0) {
        zoomTo(0);
      } else {
        bar.input.value = '';
        search('');
      }
    } else if (event.key === 'n' || event.key === 'N') {
      stepMatch(event.key === 'n' ? 1 : -1);
    } else if (layer.contains(event.target)) {
      onFrameKey(event);
    }
  }

  function frameAt(event) {
    const group = event.target.closest ? event.target.closest('#gp-frames > g') : null;
    return group ? Number(group.dataset.i) : -1;
  }

  function onHover(event) {
    const i = frameAt(event);
    if (i === state.hover) return;
    state.hover = i;
    if (i >= 0) {
      const group = drawn.get(i);
      const old = group.querySelector('title');
      if (old) old.remove();
      group.prepend(make(SVG, 'title', {}, [nameOf(i), className(i), numbers(i)].filter(Boolean).join('\n')));
    }
    showDetails();
  }

  function begin() {
    index();
    svg.removeAttribute('viewBox');
    svg.setAttribute('role', 'group');
    svg.setAttribute('aria-label', data.title);
    svg.classList.add('gp-live');
    layer.setAttribute('role', 'tree');
    layer.setAttribute('aria-label', 'Flame graph');
    layer.after(ring);
    makeBar();
    const probe = make(SVG, 'text', {}, 'M'.repeat(100));
    layer.append(probe);
    advance = probe.getComputedTextLength() / 100 || advance;
    layOut();
    restore();

    layer.addEventListener('click', (event) => {
      const i = frameAt(event);
      if (i >= 0) zoomTo(i);
    });
    layer.addEventListener('focusin', (event) => {
      const i = frameAt(event);
      if (i < 0) return;
      const old = drawn.get(state.focus);
      if (old) old.setAttribute('tabindex', -1);
      drawn.get(i).setAttribute('tabindex', 0);
      state.focus = i;
      showRing();
      showDetails();
    });
    layer.addEventListener('focusout', () => {
      ring.setAttribute('visibility', 'hidden');
    });
    svg.addEventListener('pointerover', onHover);
    svg.addEventListener('pointerleave', onHover);
    (svg === document.documentElement ? window : svg).addEventListener('keydown', onKey);
    window.addEventListener('scroll', stickHeader, { passive: true });
    window.addEventListener('popstate', restore);
    let pending = 0;
    window.addEventListener('resize', () => {
      cancelAnimationFrame(pending);
      pending = requestAnimationFrame(layOut);
    });
  }

  begin();
})();
