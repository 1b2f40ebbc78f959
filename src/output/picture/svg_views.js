// Makes views of a flame graph without changing the page: the flame graph itself, the inverted one (innermost frames
// first), and the sandwich (all callers and callees of one function).

// A frame is five adjacent numbers: depth, label, ns, count, bytes. The last three include the frame's subtree.
const STRIDE = 5;
const [NS, COUNT, BYTES] = [2, 3, 4];

const MOST_FRAMES = 300000;  // maximum number of frames in a view that is not in the file

// Returns a view: frames in drawing order, and values derived from them. Frames from `split` on are below the root.
function indexed(frames, weight, split) {
  const count = frames.length / STRIDE;
  const view = {
    frames, count, split: split === undefined ? count : split, cut: false,
    parent: new Int32Array(count),   // index of the parent; the root has -1
    end: new Int32Array(count),      // index after the last frame of the subtree
    start: new Float64Array(count),  // left edge, in units of the weight
    levels: 1, lower: 0,             // number of rows above and including the root, and below it
  };
  const open = [];
  const next = [];
  for (let i = 0; i < count; ++i) {
    const depth = frames[i * STRIDE];
    while (open.length > depth) view.end[open.pop()] = i;
    view.parent[i] = depth > 0 ? open[depth - 1] : -1;
    if (i === view.split) next[0] = view.start[0];
    view.start[i] = depth > 0 ? next[depth - 1] : 0;
    if (depth > 0) next[depth - 1] += frames[i * STRIDE + weight];
    next[depth] = view.start[i];
    open.push(i);
    if (i < view.split) view.levels = Math.max(view.levels, depth + 1); else view.lower = Math.max(view.lower, depth);
  }
  while (open.length > 0) view.end[open.pop()] = count;
  return view;
}

// Returns three numbers (ns, count, bytes) for each frame: its own weights, without those of its children.
function ownWeights(view) {
  const own = new Float64Array(3 * view.count);
  for (let i = 0; i < view.count; ++i) {
    for (let k = 0; k < 3; ++k) {
      const value = view.frames[i * STRIDE + NS + k];
      own[3 * i + k] += value;
      if (view.parent[i] >= 0) own[3 * view.parent[i] + k] -= value;
    }
  }
  return own.map((value) => Math.max(value, 0));
}

function totalWeights(view) {
  const totals = new Float64Array(3 * view.count);
  for (let i = 0; i < view.count; ++i) {
    for (let k = 0; k < 3; ++k) totals[3 * i + k] = view.frames[i * STRIDE + NS + k];
  }
  return totals;
}

// These functions pass each caller or callee of `frame` to `take`, with `source`, the frame whose weight it gets.
const towardsRoot = (base) => (frame, source, take) => {
  if (frame < 0) take(source, source); else if (base.parent[frame] > 0) take(base.parent[frame], source);
};
const towardsLeaves = (base) => (frame, source, take) => {
  for (let child = frame + 1; child < base.end[frame]; child = base.end[child]) take(child, child);
};

// Appends to `out` the tree of frames that `expand` reaches. Merges siblings that have the same label. `first`: the
// children of the root, as pairs (frame, source); a negative frame represents the frames that were left out above its
// source. Does not expand frames narrower than `least`. Returns false, with an incomplete `out`, if the view would
// exceed MOST_FRAMES.
function grow(out, base, first, expand, weights, weight, rank, least) {
  const labelOf = (frame) => (frame < 0 ? rank.length - 1 : base.frames[frame * STRIDE + 1]);
  const grouped = (pairs, depth) => {
    const nodes = new Map();
    for (let at = 0; at < pairs.length; at += 2) {
      const label = labelOf(pairs[at]);
      let node = nodes.get(label);
      if (!node) nodes.set(label, node = { depth, label, sums: [0, 0, 0], pairs: [] });
      node.pairs.push(pairs[at], pairs[at + 1]);
      for (let k = 0; k < 3; ++k) node.sums[k] += weights[3 * pairs[at + 1] + k];
    }
    // in reverse order, because the last element is taken first
    return Array.from(nodes.values()).filter((node) => node.sums[weight - NS] > 0)
        .sort((a, b) => rank[b.label] - rank[a.label]);
  };
  const pending = grouped(first, 1);
  while (pending.length > 0) {
    const node = pending.pop();
    out.push(node.depth, node.label, ...node.sums);
    if (out.length > MOST_FRAMES * STRIDE) return false;
    if (node.sums[weight - NS] < least) continue;
    const next = [];
    for (let at = 0; at < node.pairs.length; at += 2) {
      expand(node.pairs[at], node.pairs[at + 1], (frame, source) => next.push(frame, source));
    }
    for (const child of grouped(next, node.depth + 1)) pending.push(child);
  }
  return true;
}

function ranksOf(labels) {
  const order = Array.from({ length: labels.length / 2 }, (_, label) => label);
  order.sort((a, b) => (labels[2 * a] < labels[2 * b] ? -1 : labels[2 * a] > labels[2 * b] ? 1 : a - b));
  const rank = new Int32Array(order.length);
  order.forEach((label, place) => { rank[label] = place; });
  return rank;
}

// Makes a view with `attempt(least)`. Begins without a minimum width, and then increases it until the view fits.
function bounded(total, attempt) {
  for (let least = 0; ; least = least === 0 ? total / 100000 : 4 * least) {
    const view = attempt(least);
    if (view) {
      view.cut = least > 0;
      return view;
    }
  }
}

// `cut`: the frames above which other frames were omitted. The last element of `labels` names the omitted frames.
function invertedView(base, weight, labels, cut) {
  const own = ownWeights(base);
  const rank = ranksOf(labels);
  const left = new Set(cut);
  const first = [];
  for (let i = 1; i < base.count; ++i) {
    if (own[3 * i + weight - NS] > 0) first.push(left.has(i) ? -1 : i, i);
  }
  return bounded(base.frames[weight], (least) => {
    const frames = base.frames.slice(0, STRIDE);
    return grow(frames, base, first, towardsRoot(base), own, weight, rank, least) && indexed(frames, weight);
  });
}

// Builds a sandwich of the outermost frames with this label: callees above, callers below. `inverted` swaps the two.
function sandwichView(base, weight, labels, label, inverted) {
  const totals = totalWeights(base);
  const rank = ranksOf(labels);
  const sums = [0, 0, 0];
  const found = [];
  for (let i = 1; i < base.count; ++i) {
    if (base.frames[i * STRIDE + 1] !== label) continue;
    found.push(i);
    for (let k = 0; k < 3; ++k) sums[k] += totals[3 * i + k];
    i = base.end[i] - 1;
  }
  const side = (frames, expand, least) => {
    const first = [];
    for (const i of found) expand(i, i, (frame, source) => first.push(frame, source));
    return grow(frames, base, first, expand, totals, weight, rank, least);
  };
  const [up, down] = inverted ? [towardsRoot, towardsLeaves] : [towardsLeaves, towardsRoot];
  return bounded(sums[weight - NS], (least) => {
    const frames = [0, label, ...sums];
    if (!side(frames, up(base), least)) return null;
    const split = frames.length / STRIDE;
    return side(frames, down(base), least) && indexed(frames, weight, split);
  });
}
