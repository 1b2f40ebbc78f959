// Handles keyboard and pointer, and starts the script. Must be the last of the flame graph's scripts.

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

// Returns the frame to which an arrow key moves from the focused one.
function neighbour(key) {
  const i = state.focus;
  if (key === 'Home') return 0;
  if (key === 'ArrowUp' || key === 'ArrowDown') {
    const row = rowOf(i) + (key === 'ArrowUp' ? 1 : -1);
    if (view.parent[i] >= 0 && rowOf(view.parent[i]) === row) return view.parent[i];
    const inPath = (child) => state.zoom >= child && state.zoom < view.end[child];
    const children = (rows[row + view.lower] || []).filter((child) => view.parent[child] === i);
    return children.reduce((best, child) =>
        best >= 0 && !inPath(child) && widthOf(child) <= widthOf(best) ? best : child, -1);
  }
  const row = rows[rowOf(i) + view.lower];
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
    } else if (state.kind === 'sandwich') {
      show(baseKind, -1);
    } else {
      bar.input.value = '';
      search('');
    }
  } else if (event.key === 'i') {
    toggleInverted();
  } else if (event.key === 's') {
    toggleSandwich();
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
  const place = event.screenX + ' ' + event.screenY;
  if (i === state.hover || place === state.pointer) return;
  state.pointer = place;
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
  svg.removeAttribute('viewBox');
  svg.setAttribute('role', 'group');
  svg.setAttribute('aria-label', data.title);
  svg.classList.add('gp-live');
  layer.setAttribute('role', 'tree');
  layer.setAttribute('aria-label', 'Flame graph');
  layer.after(ring);
  const probe = make(SVG, 'text', {}, 'M'.repeat(100));
  layer.append(probe);
  advance = probe.getComputedTextLength() / 100 || advance;
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
    state.hover = -1;
    showRing();
    showDetails();
  });
  layer.addEventListener('focusout', () => {
    ring.setAttribute('visibility', 'hidden');
    showDetails();
  });
  svg.addEventListener('pointerover', onHover);
  svg.addEventListener('pointerleave', onHover);
  window.addEventListener('scroll', stickHeader, { passive: true });
  listen(onKey, restore, layOut);
}

begin();
