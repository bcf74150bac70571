// The layers: numbers from base64, in the order that lib/view/page_layer.c states.
const $ = (id) => document.getElementById(id);
const fail = (text) => { $('fail').textContent = text; $('fail').hidden = false; };
const scene = JSON.parse($('scene').textContent);

function fromBase64(text) {
  const end = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  const out = new Uint8Array(text.length / 4 * 3 - end), piece = 1 << 18;
  for (let i = 0, n = 0; i < text.length; i += piece) {
    const part = atob(text.slice(i, i + piece));
    for (let k = 0; k < part.length; k++) out[n++] = part.charCodeAt(k);
  }
  return out;
}

function readRecords(bytes, count) {
  const out = new Uint32Array(count);
  for (let i = 0, at = 0, record = -1; i < count; i++) {
    let step = 0, factor = 1, byte;
    do { byte = bytes[at++]; step += (byte & 127) * factor; factor *= 128; } while (byte > 127);
    out[i] = record += step;
  }
  return out;
}

// Right, ahead and up by the axis that is up, as pictures have them: rows of a rotation to x right, y ahead, z up.
const AXES = {'x': [2, 3, 1], 'y': [1, -3, 2], 'z': [1, 2, 3], '-x': [3, 2, -1], '-y': [1, 3, -2], '-z': [1, -2, -3]}[scene.up];
const turned = (v) => AXES.map((a) => a < 0 ? -v[-a - 1] : v[a - 1]);

function readLayer(layer, index) {
  const element = $('layer' + index), data = fromBase64(element.textContent), n = layer.count;
  element.remove();
  let at = 0;
  const take = (Type, count) => {
    const bytes = count * Type.BYTES_PER_ELEMENT, part = new Type(data.buffer.slice(at, at + bytes));
    at += bytes;
    return part;
  };
  layer.index = index;
  layer.codes = take(Uint16Array, 3 * n);
  layer.left = layer.columns.filter((c) => c.bytes === 0).map((c) => c.name);
  layer.columns = layer.columns.filter((c) => c.bytes > 0);
  for (const c of layer.columns) c.codes = take(c.bytes === 1 ? Uint8Array : Uint16Array, n);
  if (layer.rgb) layer.rgb = take(Uint8Array, 3 * n);
  if (layer.triangles) layer.corners = take(n > 65536 ? Uint32Array : Uint16Array, 3 * layer.triangles);
  if (layer.records) layer.records = readRecords(data.subarray(at), n);
  layer.shown = true;
  layer.column = (name) => layer.columns.find((c) => c.name === name);
}

scene.layers.forEach(readLayer);

// The record of the file that row i is.
const recordOf = (layer, i) => layer.records ? layer.records[i] : i;
// In the frame of the file, metres.
const fileCoordinates = (layer, i) => [0, 1, 2].map((k) => layer.offset[k] + layer.low[k] + layer.codes[3 * i + k] * layer.step[k]);
// NaN for a value that is not finite.
const valueOf = (column, i) => column.codes[i] === (column.bytes === 1 ? 255 : 65535) ? NaN : column.low + column.codes[i] * column.step;

// The middle of the first layer with points is the origin of what is drawn, since float32 does not hold UTM.
const first = scene.layers.find((l) => l.count > 0);
const middle = [0, 1, 2].map((k) => first.origin[k] + first.low[k] + 32768 * first.step[k]);
// What is drawn: x right, y ahead, z up, metres from the middle.
const place = (layer, i) => turned([0, 1, 2].map((k) => layer.origin[k] + layer.low[k] + layer.codes[3 * i + k] * layer.step[k] - middle[k]));

function commas(n) { return String(n).replace(/\B(?=(\d{3})+$)/g, ','); }
const WORDS = {points: 'point', boxes: 'voxel', line: 'pose', mesh: 'triangle'};
function caption(layer) {
  const word = WORDS[layer.triangles || layer.kind !== 'mesh' ? layer.kind : 'points'];
  return (layer.sampled ? commas(layer.count) + ' of ' : '') + commas(layer.total) + ' ' + word + (layer.total === 1 ? '' : 's');
}
function metres(v) {
  const a = Math.abs(v), p = (x) => Number(x.toPrecision(2)).toString();
  return a === 0 ? '0' : a < 1e-3 ? p(v * 1e6) + ' \u00b5m' : a < 0.01 ? p(v * 1e3) + ' mm' : a < 1 ? p(v * 100) + ' cm' : a < 1000 ? p(v) + ' m' : p(v / 1000) + ' km';
}
// What is not as in the file, in words.
function notes(layer) {
  const out = [], error = Math.max(...layer.step) / 2;
  if (layer.sampled) out.push(layer.every > 1 ? 'every ' + layer.every + 'th pose' : 'a random sample');
  if (layer.outside) out.push(commas(layer.outside) + ' far away left out');
  if (layer.left.length) out.push('without ' + layer.left.join(', '));
  if (error > 0) out.push('positions \u00b1 ' + metres(error));
  return out.join('; ');
}
