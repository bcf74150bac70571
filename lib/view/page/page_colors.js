// Colours: what rows are painted by, and the limits of the scale.
const rgbOf = (hex) => [0, 2, 4].map((k) => parseInt(hex.slice(k, k + 2), 16));
const palette = (name) => Uint8Array.from(scene.palettes[name].match(/../g), (h) => parseInt(h, 16));
const classColors = palette('classes');
const labelOf = new Map(scene.labels.map(([value, color, name]) => [value, {color: value ? rgbOf(color) : [154, 160, 166], name}]));
const onlyLines = scene.layers.every((l) => l.kind === 'line');
const paints = [];  // {key, label, unit}
const state = {color: '', map: scene.map, limits: [0, 1], scaled: false};

{
  const add = (key, label, unit = '') => paints.push({key, label, unit});
  add('height', 'height', 'm');
  add('distance', 'distance', 'm');
  add('order', onlyLines ? 'pose' : 'order');
  add('file', scene.layers.length > 1 ? 'file' : 'one colour');
  if (scene.layers.some((l) => l.rgb)) add('rgb', 'rgb');
  if (scene.layers.some((l) => l.classes && l.column(l.classes))) add('class', 'class');
  if (scene.layers.some((l) => normalsOf(l))) add('normals', 'normals');
  const names = new Set(scene.layers.flatMap((l) => l.columns.map((c) => c.name)));
  for (const axis of 'xyz') add('axis ' + axis, axis, 'm');
  for (const name of names) add('column ' + name, name);
  state.color = startColor();
}

// The column of classes that a layer is painted by.
function classesOf(layer, key) {
  const c = key === 'class' ? layer.column(layer.classes) : key.startsWith('column ') && layer.column(key.slice(7));
  return c && c.kind ? c : null;
}

// The colour and the name of a class.
function classOf(c, v) {
  const known = c.kind === 'semantic' && labelOf.get(v), first = c.kind === 'cluster' ? 0 : 1, k = (v - first) % (classColors.length / 3) * 3;
  const color = known ? known.color : v >= first ? classColors.subarray(k, k + 3) : v === first - 1 ? [154, 160, 166] : [128, 128, 128];
  return {color, named: c.kind === 'las' || c.kind === 'semantic', name: known ? known.name : c.kind === 'las' && scene.las[v] || (c.kind === 'cluster' && v < 0 ? 'noise' : c.name + ' ' + v)};
}

function normalsOf(layer) {
  const i = layer.columns.findIndex((c) => c.name === layer.normals);
  const three = i < 0 ? [] : layer.columns.slice(i, i + 3);
  return three.length === 3 && three[2].name.includes('z') ? three : null;
}

function startColor() {
  const l = scene.layers.find((x) => x.intensity), wanted = scene.color;
  const keys = [wanted, 'column ' + wanted, 'axis ' + wanted, wanted === 'intensity' && l ? 'column ' + l.intensity : ''];
  return keys.find((k) => paints.some((p) => p.key === k)) || 'height';
}

// The function from a row to its value on the scale, or null.
function scaledValue(layer, key) {
  const up = key === 'height', axis = up ? Math.abs(AXES[2]) - 1 : 'xyz'.indexOf(key[5]), sign = up ? Math.sign(AXES[2]) : 1;
  const base = layer.offset[axis] + layer.low[axis], step = layer.step[axis], codes = layer.codes;
  if (up || key.startsWith('axis ')) return (i) => sign * (base + codes[3 * i + axis] * step);
  if (key === 'order') return (i) => recordOf(layer, i);
  if (key === 'distance') return (i) => Math.hypot(...[0, 1, 2].map((k) => layer.low[k] + codes[3 * i + k] * layer.step[k]));
  const c = key.startsWith('column ') && layer.column(key.slice(7));
  return c && !c.kind ? (i) => valueOf(c, i) : null;
}

const isFlat = (layer, key) => key === 'file' || (layer.kind === 'line' && !onlyLines);

// From the first to the last percentile of some rows, so that few outliers do not take the colours.
function findLimits(key) {
  const values = [];
  for (const layer of scene.layers) {
    const f = isFlat(layer, key) ? null : scaledValue(layer, key), step = Math.floor(layer.count / 65536) + 1;
    for (let i = 0; f && i < layer.count; i += step) {
      const v = f(i);
      if (v === v) values.push(v);
    }
  }
  if (!values.length) return null;
  const sorted = Float64Array.from(values).sort(), at = (f) => sorted[Math.round(f * (sorted.length - 1))];
  const some = at(0.99) > at(0.01), [low, high] = some ? [at(0.01), at(0.99)] : [at(0), at(1)];
  return [low, high, at(0) < low, at(1) > high]; // the limits, and whether there are values beyond them
}

function paintScaled(layer, f, out) {
  const colors = palette(state.map), [low, high] = state.limits, factor = high > low ? 255 / (high - low) : 0;
  for (let i = 0; i < layer.count; i++) {
    const v = f(i), t = factor ? (v - low) * factor : 127;
    const k = t !== t || v !== v ? -1 : 3 * (t <= 0 ? 0 : t >= 255 ? 255 : Math.floor(t + 0.5));
    for (let j = 0; j < 3; j++) out[4 * i + j] = k < 0 ? 128 : colors[k + j];
  }
}

// RGBA per row.
function paint(layer) {
  const out = new Uint8Array(4 * layer.count).fill(255), key = state.color, n = layer.count;
  const f = isFlat(layer, key) ? null : scaledValue(layer, key);
  const each = (color) => { for (let i = 0; i < n; i++) { const c = color(i); out[4 * i] = c[0]; out[4 * i + 1] = c[1]; out[4 * i + 2] = c[2]; } };
  const grey = [128, 128, 128], normals = key === 'normals' && normalsOf(layer), classes = classesOf(layer, key);
  if (f) paintScaled(layer, f, out);
  else if (isFlat(layer, key)) { const c = rgbOf(layer.color.slice(1)); each(() => c); }
  else if (key === 'rgb' && layer.rgb) each((i) => layer.rgb.subarray(3 * i, 3 * i + 3));
  else if (normals) each((i) => normals.map((c) => 127.5 + 127.5 * valueOf(c, i)));
  else if (classes) each((i) => classOf(classes, Math.round(valueOf(classes, i))).color);
  else each(() => grey);
  return out;
}

// The classes of the layers {color, name, points}, those of most points first.
function classesShown() {
  const shown = new Map();
  for (const layer of scene.layers) {
    const c = isFlat(layer, state.color) ? null : classesOf(layer, state.color), counts = new Map();
    for (let i = 0; c && i < layer.count; i++) {
      const v = Math.round(valueOf(c, i));
      if (v === v) counts.set(v, (counts.get(v) || 0) + 1);
    }
    for (const [v, points] of counts) {
      const found = classOf(c, v), same = shown.get(found.name);
      shown.set(found.name, {...found, v, points: points + (same ? same.points : 0)});
    }
  }
  return [...shown.values()].sort((a, b) => b.points - a.points || a.v - b.v);
}

function chooseColor(key, limits) {
  state.color = key;
  const found = limits || findLimits(key);
  state.scaled = !!found && scene.layers.some((l) => !isFlat(l, key) && scaledValue(l, key));
  if (found) state.limits = found;
}
chooseColor(state.color, scene.limits);
