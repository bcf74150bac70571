// The panels: layers, controls, legend, scale bar, the picked point, the time of trajectories.
let waiting = false, later = 0;
// Draws soon, and once more with four samples per pixel when nothing moves.
function request() {
  if (!waiting) requestAnimationFrame(() => {
    waiting = false;
    draw(1);
    showScaleBar();
    clearTimeout(later);
    if (view.fine && view.ratio < 2) later = setTimeout(() => draw(2), 180);
  });
  waiting = true;
}

function element(name, parent, className, text) {
  const e = document.createElement(name);
  if (className) e.className = className;
  if (text !== undefined) e.textContent = text;
  parent.append(e);
  return e;
}

function showLayers() {
  const panel = $('layers');
  panel.replaceChildren();
  for (const layer of scene.layers) {
    const label = element('label', panel), box = element('input', label);
    box.type = 'checkbox';
    box.checked = layer.shown;
    box.onchange = () => { layer.shown = box.checked; request(); };
    if (isFlat(layer, state.color)) element('span', label, 'swatch').style.background = layer.color;
    const letters = [...layer.name], long = letters.length > 34; // names of a folder differ at their end
    const name = element('span', label, 'name', long ? letters.slice(0, 12).join('') + '\u2026' + letters.slice(-20).join('') : layer.name);
    name.title = layer.name;
    element('span', label, 'count', caption(layer));
    if (layer.kind === 'line' && layer.count > 1) for (const [end, color] of [['start', '#2ecc71'], ['end', '#e74c3c']]) {
      element('span', label, 'mark').style.background = color;
      element('span', label, 'count', end);
    }
    const note = notes(layer);
    if (note) element('div', panel, 'note', note);
  }
}

function scaleText(v, width) {
  const digits = Math.min(6, Math.max(0, 1 - Math.floor(Math.log10(width || 1))));
  return Math.abs(v) < 1e7 && (width >= 1e-4 || width === 0) ? v.toFixed(digits) : v.toPrecision(4);
}

function showLegend() {
  $('classes').replaceChildren();
  const classes = classesShown(), most = classes.every((c) => c.named) ? 40 : 16, sampled = scene.layers.some((l) => l.sampled);
  for (const c of classes.slice(0, most)) {
    const line = element('div', $('classes'));
    element('span', line, 'swatch').style.background = `rgb(${c.color})`;
    element('span', line, '', c.name);
    if (!sampled) element('span', line, 'count', commas(c.points));
  }
  if (classes.length > most) element('div', $('classes'), 'pale', `and ${commas(classes.length - most)} more`);
  $('legend').hidden = !state.scaled;
  if (!state.scaled) return;
  const [low, high, below, above] = state.limits, paint = paints.find((p) => p.key === state.color), ramp = $('ramp').getContext('2d');
  const colors = palette(state.map), image = ramp.createImageData(256, 1);
  for (let i = 0; i < 256; i++) image.data.set([...colors.subarray(3 * i, 3 * i + 3), 255], 4 * i);
  ramp.putImageData(image, 0, 0);
  $('legendname').textContent = paint.label;
  $('low').textContent = (below ? '\u2264 ' : '') + scaleText(low, high - low);
  $('high').textContent = (above ? '\u2265 ' : '') + scaleText(high, high - low) + (paint.unit ? ' ' + paint.unit : '');
}

// The largest of 1, 2, 5 x 10^k metres in a fifth of the picture.
function showScaleBar() {
  const m = metresPerPixel(), most = m * Math.max(90, canvas.clientWidth / 5), ten = 10 ** Math.floor(Math.log10(most));
  const length = 5 * ten <= most ? 5 * ten : 2 * ten <= most ? 2 * ten : ten;
  const fixed = (v) => Number(v.toPrecision(3)).toString();
  $('bar').style.width = length / m + 'px';
  $('bartext').textContent = length >= 1000 ? fixed(length / 1000) + ' km' : length >= 1 ? fixed(length) + ' m' : length >= 0.01 ? fixed(length * 100) + ' cm' : fixed(length * 1000) + ' mm';
}

// As many digits as the step has.
const withStep = (v, step) => v !== v ? 'not finite' : v.toFixed(step > 0 ? Math.min(9, Math.max(0, Math.ceil(-Math.log10(step)))) : 6).replace(/(\.\d*?)0+$/, '$1').replace(/\.$/, '');

function showPicked(hit) {
  const panel = $('picked');
  view.picked = hit;
  request();
  panel.hidden = !hit;
  panel.replaceChildren();
  if (!hit) return;
  const {layer, row} = hit, mix = hit.mix || [[row, 1]]; // what is between corners of a triangle
  element('div', panel, 'name', layer.name);
  element('button', panel, '', '\u00d7').onclick = () => showPicked(null);
  const table = element('table', panel);
  const line = (name, value) => {
    const tr = element('tr', table);
    element('td', tr, '', name);
    element('td', tr, '', value).dataset.name = name;
  };
  line({line: 'pose', mesh: hit.mix ? 'nearest vertex' : 'vertex', boxes: 'voxel'}[layer.kind] || 'record', recordOf(layer, row));
  mixed(mix, (r) => fileCoordinates(layer, r)).forEach((v, k) => line('xyz'[k], withStep(v, layer.step[k]) + ' m'));
  for (const c of layer.columns) {
    const whole = c.whole && c.step === 1;
    line(c.name, whole ? String(valueOf(c, row)).replace('NaN', 'not finite') : withStep(mixed(mix, (r) => [valueOf(c, r)])[0], c.step));
  }
  if (layer.rgb) line('rgb', mixed(mix, (r) => Array.from(layer.rgb.subarray(3 * r, 3 * r + 3))).map(Math.round).join(' '));
  const error = Math.max(...layer.step) / 2;
  element('div', panel, 'pale', error > 0 ? '\u00b1 ' + metres(error) + ' by 16 bits' : '');
}

// ---- time

const lines = scene.layers.filter((l) => l.kind === 'line' && l.count);
const timed = lines.length > 0 && lines.every((l) => l.column('time'));
const lastTime = timed ? Math.max(...lines.map((l) => valueOf(l.column('time'), l.count - 1) || 0)) : 0;

// The row of a trajectory that the slider stands at.
function poseAt(layer) {
  if (!timed || lastTime <= 0) return Math.round(view.when * (layer.count - 1));
  const column = layer.column('time'), now = view.when * lastTime;
  let low = 0, high = layer.count - 1;
  while (low < high) {
    const half = (low + high + 1) >> 1;
    if (valueOf(column, half) <= now + 1e-9) low = half; else high = half - 1;
  }
  return low;
}

function showTime() {
  $('time').hidden = lines.length === 0;
  if (!lines.length) return;
  const longest = lines.reduce((a, b) => b.count > a.count ? b : a), row = poseAt(longest);
  const pose = 'pose ' + recordOf(longest, row);
  $('pose').textContent = timed ? valueOf(longest.column('time'), row).toFixed(1) + ' s' : pose;
  $('pose').title = pose;
  $('when').value = Math.round(view.when * 1000);
}

function play() {
  let last = performance.now();
  const playing = $('play').dataset.on = $('play').dataset.on === '1' ? '' : '1';
  $('play').textContent = playing ? '\u275a\u275a' : '\u25b6';
  if (playing && view.when >= 1) view.when = 0;
  const step = (now) => {
    if ($('play').dataset.on !== '1') return;
    view.when = Math.min(1, view.when + (now - last) / 12000);
    last = now;
    showTime();
    request();
    if (view.when < 1) requestAnimationFrame(step); else play();
  };
  if (playing) requestAnimationFrame(step);
}

// ---- the controls

function fillControls() {
  for (const p of paints) {
    const option = element('option', $('color'), '', p.label);
    option.value = p.key;
  }
  $('color').value = state.color;
  $('map').value = state.map;
  $('size').value = view.size || autoSize();
  $('perspective').checked = camera.perspective;
  document.title = scene.layers.map((l) => l.name).join(', ') + ' - pcgpu view';
}

function repaint() {
  recolor();
  showLayers();
  showLegend();
  request();
}

$('color').onchange = (e) => { chooseColor(e.target.value); repaint(); };
$('map').onchange = (e) => { state.map = e.target.value; repaint(); };
$('size').oninput = (e) => { view.size = Number(e.target.value); request(); };
$('edl').onchange = (e) => { view.edl = e.target.checked; request(); };
$('perspective').onchange = (e) => { camera.perspective = e.target.checked; request(); };
$('when').oninput = (e) => { view.when = e.target.value / 1000; $('play').dataset.on = ''; $('play').textContent = '\u25b6'; showTime(); request(); };
$('play').onclick = play;
for (const button of document.querySelectorAll('[data-from]')) {
  button.onclick = () => { look(button.dataset.from); $('perspective').checked = camera.perspective; request(); };
}
