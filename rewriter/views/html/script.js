'use strict';
// Names come from the user's program: they are only ever put into text nodes.
const report = JSON.parse(document.getElementById('data').textContent);
const SVG = 'http://www.w3.org/2000/svg';

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, '');
    else if (value !== false && value !== undefined) node.setAttribute(name, value);
  }
  for (const child of children.flat(3))
    if (child !== null && child !== undefined && child !== '') node.append(child);
  return node;
}
const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

function cycles(n) {
  if (n === null || n === undefined || !Number.isFinite(n)) return '?';
  const units = ['', 'k', 'M', 'G', 'T', 'P'];
  let unit = 0;
  while (n >= 999.5 && unit + 1 < units.length) { n /= 1000; unit++; }
  return n.toFixed(unit === 0 || n >= 99.95 ? 0 : n >= 9.995 ? 1 : 2) + units[unit];
}
const short = n => n >= 100 ? n.toFixed(0) : String(+n.toFixed(2));
const count = (n, one, many = one + 's') => `${n} ${n === 1 ? one : many}`;
const total = v => v.predicted_cycles + v.conversion_cycles;
const place = (file, line, column) => file + (line ? ':' + line : '') + (column ? ':' + column : '');
const kernelOf = (variant, name) => variant.kernels.find(k => k.name === name);

// --- what was found, in a sentence ---------------------------------------------

function outcome(c) {
  const gain = `predicted ${short(c.predicted_speedup)}× on ${report.gpu}`;
  if (c.status === 'refused') return 'left alone';
  if (c.status === 'rewritten') return `faster as ${c.winner}: ${gain}`;
  if (c.status === 'forced') return `${c.winner} as asked: ${gain}`;
  if (c.variants.length === 1) return 'stays as it is: no other layout is asked for, or legal';
  return c.variants.length ? `stays as it is: no layout is predicted to be faster on ${report.gpu}` : 'can be laid out anew';
}

const pill = c => el('span', { class: 'pill ' + c.status }, c.status);

function heading() {
  const list = report.candidates.map((c, i) => el('li', {}, el('a', { href: '#c' + i }, el('code', {}, c.name), pill(c),
    el('span', { class: 'quiet' }, outcome(c)))));
  return [el('h1', {}, 'restride report'),
    el('p', { class: 'quiet' }, `${count(report.candidates.length, 'array')}, predicted for ${report.gpu} with the cost model ${report.cost_model}, PTX by ${report.ptx_compiler}. `
      + 'Cycles are those of one SM clock, and for comparing layouts.'),
    report.candidates.length ? el('nav', { 'aria-label': 'Arrays' }, el('ul', {}, list)) : el('p', {}, 'No array of structs was found that a kernel uses.')];
}

// --- layouts and their time ----------------------------------------------------

function layoutTable(c, index, state, redraw) {
  const names = c.variants[0].kernels.map(k => k.name);
  const slowest = Math.max(...c.variants.map(total).filter(Number.isFinite));
  const rows = c.variants.map((v, i) => {
    const radio = el('input', { type: 'radio', name: 'layout' + index, value: i, checked: i === state.layout, onchange: () => { state.layout = i; redraw(); } });
    return el('tr', { class: (v.layout === c.winner ? 'winner ' : '') + (i === state.layout ? 'chosen' : '') },
      el('th', { scope: 'row' }, el('label', {}, radio, el('span', {}, v.layout, v.layout === c.winner ? ' ✓' : ''))),
      el('td', {}, cycles(total(v))),
      el('td', {}, Number.isFinite(total(c.variants[0]) / total(v)) ? (total(c.variants[0]) / total(v)).toFixed(2) + '×' : '?'),
      el('td', { class: 'bar', 'aria-hidden': 'true' }, fillBar(total(v) / slowest)),
      names.map(n => {
        const k = kernelOf(v, n);
        return el('td', {}, k ? [cycles(k.cycles * k.calls), ' ', el('span', { class: 'quiet-part' }, k.bound_by)] : '?');
      }),
      el('td', {}, cycles(v.conversion_cycles)));
  });
  return el('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Layouts and predicted time' }, el('table', {},
    el('caption', {}, 'Predicted cycles, all launches, and what bounds them. Choose a layout to see it below.'),
    el('thead', {}, el('tr', {}, el('th', { scope: 'col' }, 'layout'), el('th', { scope: 'col' }, 'total'), el('th', { scope: 'col' }, 'speedup'), el('th', { class: 'bar', 'aria-hidden': 'true' }),
      names.map(n => el('th', { scope: 'col' }, el('code', {}, n))), el('th', { scope: 'col' }, 'copies'))),
    el('tbody', {}, rows)));
}

function fillBar(share) {
  const bar = el('span');
  bar.style.width = Math.max(1, 100 * Math.min(1, share || 0)) + '%';
  return bar;
}

function termBars(kernel) {
  const terms = Object.entries(kernel.terms).filter(([, v]) => v !== null);
  const most = Math.max(...terms.map(([, v]) => v), 1e-9);
  return el('div', { class: 'terms' }, terms.map(([name, value]) => {
    const bar = el('i');
    bar.style.width = 100 * value / most + '%';
    return el('div', { class: name === kernel.bound_by ? 'binds' : '' }, el('span', {}, name), el('span', {}, bar), el('span', {}, cycles(value)));
  }));
}

// --- the bytes that a warp touches ----------------------------------------------

const LINE = 128, SECTOR = 32, MOST_LINES = 16;
const color = (fields, field) => `var(--f${Math.max(0, fields.indexOf(field)) % 8})`;
const shownFields = kernels => [...new Set(kernels.flatMap(k => k ? k.accesses.filter(a => a.field && a.lanes.length).map(a => a.field) : []))];

/** Lines of 128 bytes by their place, each with the field that touches a byte. */
function touchedLines(kernel) {
  const lines = new Map();
  for (const a of kernel.accesses) {
    if (!a.field) continue;
    for (const from of a.lanes) {
      if (from < 0) continue;
      for (let b = from; b < from + a.bytes; b++) {
        const line = Math.floor(b / LINE), key = a.range + ':' + String(line).padStart(14, '0');
        if (!lines.has(key)) lines.set(key, { range: a.range, line, bytes: new Array(LINE).fill('') });
        lines.get(key).bytes[b % LINE] = a.field;
      }
    }
  }
  return [...lines.keys()].sort().map(k => lines.get(k));
}

function memoryPicture(kernel, fields) {
  const all = touchedLines(kernel);
  if (!all.length) return el('p', { class: 'quiet' }, 'No access of a field was seen.');
  const row = 13, gap = 3, scale = 5, shown = all.slice(0, MOST_LINES), parts = [];
  let y = 1, range = shown[0].range, sectors = 0, used = 0;
  for (const l of all)
    for (let s = 0; s < LINE; s += SECTOR) {
      const n = l.bytes.slice(s, s + SECTOR).filter(Boolean).length;
      sectors += n > 0; used += n;
    }
  for (const l of shown) {
    if (l.range !== range) { y += 6; range = l.range; }
    for (let s = 0; s < LINE; s += SECTOR) {
      const left = s * scale + gap * (s / SECTOR), bytes = l.bytes.slice(s, s + SECTOR), hit = bytes.some(Boolean);
      parts.push(svg('rect', { x: left, y, width: SECTOR * scale, height: row - 2, fill: hit ? 'var(--waste)' : 'none', stroke: 'var(--line)', 'stroke-width': 1 }));
      for (let b = 0; b < SECTOR;) {
        let end = b + 1;
        while (end < SECTOR && bytes[end] === bytes[b] && end % 4) end++;
        if (bytes[b]) parts.push(svg('rect', { x: left + b * scale + 0.5, y: y + 1, width: (end - b) * scale - 1, height: row - 4, fill: color(fields, bytes[b]) }));
        b = end;
      }
    }
    y += row;
  }
  const text = `${count(all.length, 'line')}, ${count(sectors, 'sector')}; ${used} of ${sectors * SECTOR} bytes are asked for (${Math.round(100 * used / (sectors * SECTOR))} %)`;
  return [svg('svg', { class: 'memory', viewBox: `0 0 ${LINE * scale + 3 * gap} ${y + 1}`, role: 'img', 'aria-label': text }, parts),
    el('p', { class: 'figure-note' }, text, all.length > shown.length ? `. The first ${shown.length} lines are drawn.` : '.')];
}

function legend(fields) {
  const item = (fill, text) => {
    const box = el('span');
    box.style.background = fill;
    return el('li', {}, box, text);
  };
  return el('ul', { class: 'legend' }, fields.map(f => item(color(fields, f), f === '*' ? 'whole elements' : f)), item('var(--waste)', 'moved, and not asked for'));
}

// --- sectors beside the source ---------------------------------------------------

function chips(kernel, file, line) {
  const seen = new Map();
  for (const a of kernel.accesses)
    if (a.line === line && (a.file || file) === file) {
      const key = [a.field, a.bytes, a.kind].join('|');
      if (!seen.has(key)) seen.set(key, []);
      seen.get(key).push(a);
    }
  return [...seen.values()].map(same => {
    const a = same[0], sectors = Math.max(...same.map(s => s.sectors_per_request)), waste = sectors / Math.max(a.bytes, 1);
    const grade = waste <= 1.1 ? 'good' : waste <= 2.5 ? 'fair' : 'poor';
    const found = a.found_in ? `, found in L1 ${Math.round(100 * a.found_in.l1)} %, L2 ${Math.round(100 * a.found_in.l2)} %, DRAM ${Math.round(100 * a.found_in.dram)} %` : '';
    const what = `${a.kind} of ${a.bytes} bytes per lane${a.indirect ? ' by a loaded index' : ''}: ${short(sectors)} sectors per request, at least ${a.bytes}${found}`;
    return el('span', { class: 'chip ' + grade, title: what }, (a.field || '·') + (same.length > 1 ? ` ${same.length}×` : '') + ' ' + (a.kind === 'load' ? '' : a.kind + ' '), el('b', {}, short(sectors)));
  });
}

function sourceView(before, after, names) {
  const files = new Map();
  for (const k of [before, after])
    for (const a of k ? k.accesses : [])
      if (a.line) {
        const file = a.file || report.sources.length && report.sources[0].file;
        if (!files.has(file)) files.set(file, new Set());
        files.get(file).add(a.line);
      }
  const AROUND = 2, out = [];
  for (const [file, hits] of files) {
    const source = report.sources.find(s => s.file === file);
    if (!source) continue;
    const lines = source.text.split('\n'), rows = [];
    let last = 0;
    for (let n = 1; n <= lines.length; n++) {
      if (![...hits].some(h => Math.abs(h - n) <= AROUND)) continue;
      if (last && n > last + 1) rows.push(el('tr', { class: 'gap' }, el('th'), el('td', { colspan: 3 }, '⋯')));
      last = n;
      rows.push(el('tr', { class: hits.has(n) ? 'hit' : '' }, el('th', { scope: 'row' }, String(n)), el('td', { class: 'code mono' }, lines[n - 1].replace(/\r$/, '')),
        el('td', { class: 'before', 'data-layout': names[0] }, chips(before, file, n)), after !== before ? el('td', { class: 'after', 'data-layout': names[1] }, chips(after, file, n)) : null));
    }
    out.push(el('p', { class: 'mono quiet' }, file), el('div', { class: 'source', tabindex: '0', role: 'region', 'aria-label': 'Source with sectors per request' },
      el('table', {}, el('colgroup', {}, el('col', { class: 'number' }), el('col', { class: 'code' })), el('thead', {}, el('tr', {}, el('th'), el('th'), el('th', { scope: 'col' }, names[0]), after !== before ? el('th', { scope: 'col' }, names[1]) : null)), el('tbody', {}, rows))));
  }
  return out.length ? out : el('p', { class: 'quiet' }, 'The accesses have no place in the source.');
}

// --- the weighted control-flow graph ----------------------------------------------

/** Layers by the longest path without back edges, which go to a node on the way there. */
function layers(flow) {
  const state = new Array(flow.length).fill(0), order = [], back = new Set();
  const stack = [[0, 0]];
  state[0] = 1;
  while (stack.length) {
    const top = stack[stack.length - 1], next = flow[top[0]].next;
    if (top[1] === next.length) { state[top[0]] = 2; order.unshift(top[0]); stack.pop(); continue; }
    const to = next[top[1]++];
    if (state[to] === 1) back.add(top[0] + '>' + to);
    if (state[to] === 0) { state[to] = 1; stack.push([to, 0]); }
  }
  const rank = new Map(order.map(n => [n, 0]));
  for (const n of order)
    for (const to of flow[n].next)
      if (!back.has(n + '>' + to)) rank.set(to, Math.max(rank.get(to), rank.get(n) + 1));
  return { order, rank, back };
}

function graph(kernel) {
  const flow = kernel.flow;
  if (!flow || !flow.length) return el('p', { class: 'quiet' }, 'There is no graph of this kernel.');
  const { order, rank, back } = layers(flow), W = 172, H = 40, DX = 26, DY = 34, at = new Map(), rows = [];
  for (const n of order) (rows[rank.get(n)] = rows[rank.get(n)] || []).push(n);
  rows.forEach((row, r) => {
    const wanted = n => {
      const from = order.filter(p => flow[p].next.includes(n) && at.has(p));
      return from.length ? from.reduce((s, p) => s + at.get(p).x, 0) / from.length : 0;
    };
    const sorted = row.map(n => [wanted(n), n]).sort((a, b) => a[0] - b[0]);
    sorted.forEach(([x, n], i) => at.set(n, { x: (i - (row.length - 1) / 2) * (W + DX) + (row.length === 1 ? x : 0), y: r * (H + DY) }));
  });
  const share = n => flow[n].weight * Math.max(flow[n].cost || 0, 1), most = Math.max(...order.map(share), 1e-9);
  const parts = [svg('defs', {}, svg('marker', { id: 'tip', viewBox: '0 0 8 8', refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: 'auto' }, svg('path', { d: 'M0 0L8 4L0 8z' })))];
  let left = Infinity, right = -Infinity;
  for (const p of at.values()) { left = Math.min(left, p.x - W / 2); right = Math.max(right, p.x + W / 2); }
  let lane = 0;
  for (const n of order)
    for (const to of flow[n].next) {
      const a = at.get(n), b = at.get(to);
      if (!back.has(n + '>' + to)) {
        const x0 = a.x, y0 = a.y + H, x1 = b.x, y1 = b.y, far = rank.get(to) - rank.get(n) > 1 && Math.abs(x0 - x1) < 5;
        const bend = far ? W / 2 + 18 : 0;
        parts.push(svg('path', { d: far ? `M${x0 - 30} ${y0}C${x0 - bend - 30} ${y0 + 30} ${x1 - bend - 30} ${y1 - 30} ${x1 - 30} ${y1}` : `M${x0} ${y0}C${x0} ${y0 + DY / 2} ${x1} ${y1 - DY / 2} ${x1} ${y1}`, 'marker-end': 'url(#tip)' }));
        continue;
      }
      const out = Math.max(a.x, b.x) + W / 2 + 16 + 9 * lane++;
      parts.push(svg('path', { class: 'back', d: `M${a.x + W / 2} ${a.y + H / 2}C${out} ${a.y + H / 2} ${out} ${b.y + H / 2} ${b.x + W / 2} ${b.y + H / 2}`, 'marker-end': 'url(#tip)' }));
      right = Math.max(right, out);
    }
  for (const n of order) {
    const f = flow[n], p = at.get(n), loop = f.trips ? `, loop ${f.counted ? '' : '≈'}${short(f.trips)} trips` : '';
    parts.push(svg('g', { transform: `translate(${p.x - W / 2} ${p.y})` },
      svg('rect', { class: 'paper', width: W, height: H, rx: 4 }),
      svg('rect', { width: W, height: H, rx: 4, 'fill-opacity': 0.04 + 0.45 * share(n) / most }),
      svg('title', {}, `block ${n}${f.line ? ', ' + place(f.file, f.line) : ''}: ${short(f.weight)} visits per warp, ${cycles(f.cost)} cycles each${loop}`),
      svg('text', { x: 8, y: 16 }, `×${short(f.weight)}` + (f.line ? `   line ${f.line}` : '')),
      svg('text', { class: 'small', x: 8, y: 31 }, `${count(f.instructions, 'instruction')}${f.accesses ? ', ' + count(f.accesses, 'access', 'accesses') : ''}`),
      f.trips ? svg('text', { class: 'small', x: W - 8, y: 16, 'text-anchor': 'end' }, `↻ ${f.counted ? '' : '≈'}${short(f.trips)}`) : ''));
  }
  const height = rows.length * (H + DY);
  return zoomable(svg('svg', { role: 'img', 'aria-label': `Control-flow graph of ${count(order.length, 'block')}` }, parts),
    { x: left - 14, y: -12, w: right - left + 28, h: height });
}

function zoomable(picture, all) {
  let view = { ...all };
  const show = () => picture.setAttribute('viewBox', `${view.x} ${view.y} ${view.w} ${view.h}`);
  const zoom = (by, cx = 0.5, cy = 0.5) => {
    const w = Math.min(Math.max(view.w * by, 60), Math.max(all.w, all.h) * 4), h = view.h * w / view.w;
    view = { x: view.x + (view.w - w) * cx, y: view.y + (view.h - h) * cy, w, h };
    show();
  };
  const move = (dx, dy) => { view.x += dx * view.w; view.y += dy * view.h; show(); };
  const fit = () => { view = { ...all }; show(); };
  const keys = { '+': () => zoom(0.8), '=': () => zoom(0.8), '-': () => zoom(1.25), 0: fit, ArrowLeft: () => move(-0.1, 0), ArrowRight: () => move(0.1, 0), ArrowUp: () => move(0, -0.1), ArrowDown: () => move(0, 0.1) };
  let held = null;
  const box = el('div', { class: 'graph', tabindex: '0', role: 'region', 'aria-label': 'Control-flow graph; plus and minus zoom, arrows move, 0 shows all',
    onkeydown: e => { if (keys[e.key] && !e.ctrlKey && !e.metaKey && !e.altKey) { keys[e.key](); e.preventDefault(); } },
    onpointerdown: e => { held = { x: e.clientX, y: e.clientY }; box.setPointerCapture(e.pointerId); },
    onpointermove: e => {
      if (!held) return;
      move((held.x - e.clientX) / box.clientWidth, (held.y - e.clientY) / box.clientHeight);
      held = { x: e.clientX, y: e.clientY };
    },
    onpointerup: () => { held = null; }, onpointercancel: () => { held = null; } }, picture);
  box.addEventListener('wheel', e => {
    if (!e.ctrlKey) return; // the page scrolls else
    e.preventDefault();
    const r = box.getBoundingClientRect();
    zoom(e.deltaY < 0 ? 0.85 : 1.18, (e.clientX - r.left) / r.width, (e.clientY - r.top) / r.height);
  }, { passive: false });
  show();
  requestAnimationFrame(() => { // a tall graph begins at its top, large enough to read
    const scale = Math.min(box.clientWidth / all.w, box.clientHeight / all.h);
    if (scale >= 0.7 || !box.clientWidth) return;
    view = { x: all.x + (all.w - box.clientWidth) / 2, y: all.y, w: box.clientWidth, h: box.clientHeight };
    show();
  });
  return [el('div', { class: 'tools' }, el('button', { type: 'button', onclick: () => zoom(0.8), 'aria-label': 'Zoom in' }, '+'), el('button', { type: 'button', onclick: () => zoom(1.25), 'aria-label': 'Zoom out' }, '−'),
    el('button', { type: 'button', onclick: fit }, 'all'), el('span', { class: 'figure-note' }, 'Blocks of PTX with their visits per warp; darker ones cost more. Drag to move, Ctrl and the wheel zoom.')), box];
}

// --- one array ---------------------------------------------------------------------

function details(c, state) {
  const source = c.variants[0], chosen = c.variants[state.layout], before = kernelOf(source, state.kernel), after = kernelOf(chosen, state.kernel);
  if (!before || !after) return [el('p', { class: 'quiet' }, 'This kernel has no code in one of the layouts.')];
  const same = source === chosen, fields = shownFields([before, after]);
  const pair = draw => el('div', { class: same ? '' : 'pair' }, (same ? [[source, before]] : [[source, before], [chosen, after]]).map(([v, k]) => el('div', {}, el('h4', {}, v.layout), draw(k))));
  const resident = k => k.occupancy ? el('p', { class: 'figure-note' }, `${count(k.occupancy.blocks_per_sm, 'block')} of ${count(k.occupancy.warps_per_block, 'warp')} per SM, ${Math.round(100 * k.occupancy.share)} % of its warps; limited by ${k.occupancy.limited_by}`) : null;
  return [
    el('h3', {}, 'What one warp touches'),
    el('p', { class: 'figure-note' }, 'A row is a line of 128 bytes, a box a sector of 32. Drawn is the first request of each access; a load of several fields at once has the colour of the first.'), legend(fields), pair(k => memoryPicture(k, fields)),
    el('h3', {}, 'Cycles of one launch'), pair(k => [termBars(k), resident(k)]),
    el('h3', {}, 'Sectors per request'), sourceView(before, after, [source.layout, chosen.layout]),
    el('h3', {}, `Weighted control flow (${chosen.layout})`), graph(after),
    after.notes.length ? [el('h3', {}, 'Assumed'), el('ul', { class: 'plain' }, after.notes.map(n => el('li', {}, n)))] : null,
  ];
}

function refusals(c) {
  if (!c.refusals.length) return null;
  return el('details', { open: c.status === 'refused' }, el('summary', {}, `${count(c.refusals.length, 'refusal')}`), el('ul', { class: 'plain' }, c.refusals.map(r =>
    el('li', {}, el('code', {}, place(r.file, r.line, r.column)), ' ', r.layout ? r.layout + ': ' : '', r.reason))));
}

function candidate(c, index) {
  const box = el('section', { id: 'c' + index, 'aria-labelledby': 'h' + index },
    el('h2', { id: 'h' + index }, c.name, ' ', pill(c)),
    el('p', {}, outcome(c)),
    el('p', { class: 'quiet' }, el('code', {}, place(c.file, c.line)), ` · ${c.source_layout === 'parallel' ? 'parallel arrays' : 'array'} `, el('code', {}, c.array), ` · ${count(c.fields.length, 'field')}: `, el('code', {}, c.fields.join(', ')), c.record_bytes ? ` · ${c.record_bytes} bytes` : ''),
    refusals(c));
  if (!c.variants.length) return box;
  const winner = c.variants.findIndex(v => v.layout === c.winner);
  const costly = [...c.variants[0].kernels].sort((a, b) => b.cycles * b.calls - a.cycles * a.calls)[0];
  const state = { layout: Math.max(0, winner), kernel: costly ? costly.name : '' };
  const table = el('div', {}), below = el('div', {});
  const redraw = () => {
    const focused = document.activeElement && table.contains(document.activeElement) && document.activeElement.value;
    table.replaceChildren(layoutTable(c, index, state, redraw));
    if (focused) table.querySelector(`input[value="${state.layout}"]`).focus();
    below.replaceChildren(...details(c, state).flat(3).filter(Boolean));
  };
  const kernels = c.variants[0].kernels.length;
  const pick = kernels < 2 ? '' : el('div', { class: 'pick' }, el('label', {}, 'Kernel ', el('select', { onchange: e => { state.kernel = e.target.value; redraw(); } },
    c.variants[0].kernels.map(k => el('option', { value: k.name, selected: k.name === state.kernel }, k.name)))));
  box.append(table, pick, below);
  redraw();
  return box;
}

function diffs() {
  if (!report.diffs.length) return null;
  return el('section', { 'aria-labelledby': 'diff' }, el('h2', { id: 'diff' }, 'What changes'), report.diffs.map(text => {
    const lines = text.replace(/\n$/, '').split('\n'), name = (lines.find(l => l.startsWith('+++ ')) || '').replace(/^\+\+\+ (b\/)?/, '');
    return el('details', { open: true }, el('summary', {}, el('code', {}, name)), el('div', { class: 'diff mono', tabindex: '0', role: 'region', 'aria-label': 'Diff of ' + name }, lines.slice(2).map(l =>
      el('div', { class: l[0] === '+' ? 'add' : l[0] === '-' ? 'cut' : l.startsWith('@@') ? 'hunk' : '' }, l))));
  }));
}

document.getElementById('top').replaceChildren(...heading());
document.getElementById('main').replaceChildren(...[report.candidates.map(candidate), diffs(),
  report.warnings.length ? el('section', {}, el('h2', {}, 'Warnings'), el('ul', { class: 'plain' }, report.warnings.map(w => el('li', {}, w)))) : null].flat().filter(Boolean));
