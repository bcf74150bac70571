// The camera turns around a point, with z up.
const camera = {target: [0, 0, 0], yaw: 0, pitch: 0, distance: 1, perspective: true, radius: 1};
const FOV = Math.tan(Math.PI / 8);  // half of 45 degrees

// Rows right, up and back of the camera.
function basis() {
  const cy = Math.cos(camera.yaw), sy = Math.sin(camera.yaw), cp = Math.cos(camera.pitch), sp = Math.sin(camera.pitch);
  return [[cy, sy, 0], [-sy * sp, cy * sp, cp], [sy * cp, -cy * cp, sp]];
}

// Some rows of the layers, where they are drawn.
function somePlaces(layers) {
  const out = [];
  for (const layer of layers) {
    const step = Math.floor(layer.count * layers.length / 40000) + 1;
    for (let i = 0; i < layer.count; i += step) out.push(place(layer, i));
  }
  return out;
}

// From the first to the last percentile and an eighth more on both sides, but not beyond the values.
function limitsOf(values) {
  const s = Float64Array.from(values).sort(), at = (f) => s[Math.round(f * (s.length - 1))];
  const a = at(0.01), b = at(0.99), more = 0.125 * (b - a);
  return [Math.max(at(0), a - more), Math.min(at(1), b + more)];
}

// Places the camera so that the limits of what it sees fit between the panels.
function look(from) {
  const shown = scene.layers.filter((l) => l.shown && l.count);
  const points = somePlaces(shown.length ? shown : scene.layers), box = [0, 1, 2].map((k) => limitsOf(points.map((p) => p[k])));
  [camera.yaw, camera.pitch] = {iso: [-Math.PI / 4, 0.585], top: [0, Math.PI / 2], front: [0, 0], side: [Math.PI / 2, 0]}[from];
  if (from === 'iso') { // after the quarter turns that show most of the front of a mesh
    const front = [0, 1, 2].map((k) => scene.layers.reduce((sum, l) => sum + (l.front ? l.front[k] : 0), 0));
    const seen = [0, 1, 2, 3].map((i) => { camera.yaw = (2 * i - 1) * Math.PI / 4; return dot(basis()[2], front); });
    camera.yaw = (2 * seen.indexOf(Math.max(...seen)) - 1) * Math.PI / 4;
  }
  camera.perspective = from === 'iso';
  camera.target = box.map((b) => (b[0] + b[1]) / 2);
  camera.radius = Math.hypot(...box.map((b) => b[1] - b[0])) / 2 || 1;  // one point: a metre around it
  camera.distance = (camera.perspective ? 2.6 : 1.2) * camera.radius;
  const [right, up, back] = basis(), aspect = canvas.clientWidth / Math.max(canvas.clientHeight, 1);
  for (let round = 0; round < 4; round++) {
    const seen = points.map((p) => {
      const v = p.map((x, k) => x - camera.target[k]), w = camera.perspective ? camera.distance - dot(v, back) : camera.distance;
      return w > 0.05 * camera.distance ? [dot(v, right) * camera.distance / w, dot(v, up) * camera.distance / w] : null;
    }).filter((p) => p);
    const x = limitsOf(seen.map((p) => p[0])), y = limitsOf(seen.map((p) => p[1]));
    camera.target = camera.target.map((t, k) => t + right[k] * (x[0] + x[1]) / 2 + up[k] * (y[0] + y[1]) / 2);
    const needed = Math.max((x[1] - x[0]) / aspect, y[1] - y[0]) / (2 * FOV * 0.86);
    camera.distance = Math.max(camera.perspective ? 0.3 * camera.radius : 0, needed) || camera.radius;
  }
}

function dot(a, b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
function eyePoint() { const [, , back] = basis(); return camera.target.map((t, k) => t + back[k] * camera.distance); }
const metresPerPixel = () => 2 * FOV * camera.distance / Math.max(canvas.clientHeight, 1);

// Column-major view and projection; `near` and `far` enclose what is drawn.
function matrices() {
  const b = basis(), eye = eyePoint(), aspect = canvas.width / Math.max(canvas.height, 1);
  const view = [b[0][0], b[1][0], b[2][0], 0, b[0][1], b[1][1], b[2][1], 0, b[0][2], b[1][2], b[2][2], 0,
    -dot(b[0], eye), -dot(b[1], eye), -dot(b[2], eye), 1];
  const reach = Math.hypot(...camera.target) + worldRadius, d = camera.distance;
  const far = 1.01 * (d + reach), near = camera.perspective ? Math.max(d * 0.01, far * 2e-5) : 0.99 * d - 1.01 * reach;
  const f = 1 / FOV, w = 1 / (FOV * d);
  const projection = camera.perspective
    ? [f / aspect, 0, 0, 0, 0, f, 0, 0, 0, 0, (far + near) / (near - far), -1, 0, 0, 2 * far * near / (near - far), 0]
    : [w / aspect, 0, 0, 0, 0, w, 0, 0, 0, 0, 2 / (near - far), 0, 0, 0, (far + near) / (near - far), 1];
  return {view, projection, near, far};
}

// Where a point of the scene is in the picture, in CSS pixels.
function project(p) {
  const b = basis(), eye = eyePoint(), v = p.map((x, k) => x - eye[k]);
  const scale = canvas.clientHeight / 2 / (FOV * (camera.perspective ? -dot(v, b[2]) : camera.distance));
  return [canvas.clientWidth / 2 + dot(v, b[0]) * scale, canvas.clientHeight / 2 - dot(v, b[1]) * scale];
}

function turn(dx, dy) {
  camera.yaw -= dx * 0.006;
  camera.pitch = Math.min(Math.PI / 2, Math.max(-Math.PI / 2, camera.pitch + dy * 0.006));
}
function pan(dx, dy) {
  const [right, up] = basis(), m = metresPerPixel();
  camera.target = camera.target.map((t, k) => t - right[k] * dx * m + up[k] * dy * m);
}
// Towards what is under the pointer.
function zoom(factor, x, y) {
  const before = metresPerPixel(), d = Math.min(Math.max(camera.distance * factor, camera.radius * 1e-4), camera.radius * 1e3);
  camera.distance = d;
  const change = before - metresPerPixel(), [right, up] = basis();
  const dx = x - canvas.clientWidth / 2, dy = canvas.clientHeight / 2 - y;
  camera.target = camera.target.map((t, k) => t + (right[k] * dx + up[k] * dy) * change);
}
