// Picking: what is nearest to a place in the picture; on a mesh a point of a triangle, between its corners.

// A point of the scene by its pixel, from the lower left, and its distance along the axis of the camera.
function unproject(m, x, y, depth) {
  const [right, up, back] = basis(), eye = eyePoint(), scale = camera.perspective ? depth : 1;
  const u = (2 * (x + 0.5) / canvas.width - 1) * scale / m.projection[0], v = (2 * (y + 0.5) / canvas.height - 1) * scale / m.projection[5];
  return eye.map((e, k) => e + right[k] * u + up[k] * v - back[k] * depth);
}

const minus = (a, b) => a.map((v, k) => v - b[k]);

// The weights of the corners at a point in the plane of a triangle.
function weightsAt(corners, point) {
  const e = minus(corners[1], corners[0]), f = minus(corners[2], corners[0]), p = minus(point, corners[0]);
  const ee = dot(e, e), ef = dot(e, f), ff = dot(f, f), pe = dot(p, e), pf = dot(p, f), area = ee * ff - ef * ef;
  const v = (ff * pe - ef * pf) / area, w = (ee * pf - ef * pe) / area;
  return [1 - v - w, v, w];
}

// Of the triangles at a vertex, that which the point lies on: {row, at, mix}, where mix has rows and weights.
function onSurface(layer, row, point) {
  let best = null, most = -Infinity;
  for (let i = 0; i < 3 * layer.triangles; i += 3) {
    const rows = [layer.corners[i], layer.corners[i + 1], layer.corners[i + 2]];
    if (!rows.includes(row)) continue;
    const weights = weightsAt(rows.map((r) => place(layer, r)), point), least = Math.min(...weights);
    if (least > most) [most, best] = [least, rows.map((r, k) => [r, Math.max(0, weights[k])])];
  }
  if (!best) return null;
  const sum = best.reduce((s, [, w]) => s + w, 0);
  const mix = best.map(([r, w]) => [r, w / sum]), nearest = mix.reduce((a, b) => b[1] > a[1] ? b : a)[0];
  return {row: nearest, at: mixed(mix, (r) => place(layer, r)), mix};
}
const mixed = (mix, of) => mix.map(([r, w]) => of(r).map((v) => v * w)).reduce((a, b) => a.map((v, k) => v + b[k]));

// {layer, row, at}, and `mix` on a mesh; or null.
function pick(x, y) {
  const reach = 7, side = 2 * reach + 1, ratio = view.ratio, m = matrices();
  const cx = Math.round(x * ratio), cy = canvas.height - 1 - Math.round(y * ratio);
  picking.resize(canvas.width, canvas.height);
  gl.bindFramebuffer(gl.FRAMEBUFFER, picking.frame);
  gl.viewport(0, 0, picking.width, picking.height);
  gl.enable(gl.SCISSOR_TEST);
  gl.scissor(cx - reach, cy - reach, side, side);
  gl.enable(gl.DEPTH_TEST);
  gl.clearBufferuiv(gl.COLOR, 0, new Uint32Array(4));
  gl.clear(gl.DEPTH_BUFFER_BIT);
  for (const layer of shownLayers(false)) drawLayer(pickers, layer, m, ratio);
  gl.disable(gl.DEPTH_TEST);
  for (const layer of shownLayers(true)) drawLine(pickers, layer, m, 2 * ratio);
  const ids = new Uint32Array(4 * side * side);
  gl.readPixels(cx - reach, cy - reach, side, side, gl.RGBA_INTEGER, gl.UNSIGNED_INT, ids);
  gl.disable(gl.SCISSOR_TEST);
  gl.bindFramebuffer(gl.FRAMEBUFFER, null);
  let best = null, nearest = Infinity;
  for (let i = 0; i < side * side; i++) {
    const d = Math.hypot(i % side - reach, Math.floor(i / side) - reach);
    if (ids[4 * i] && d < nearest && d <= reach) {
      nearest = d;
      best = i;
    }
  }
  if (best === null) return null;
  const [index, row] = ids.subarray(4 * best), layer = scene.layers[index - 1], depth = new Float32Array(ids.buffer, 16 * best + 8, 1)[0];
  const point = unproject(m, cx - reach + best % side, cy - reach + Math.floor(best / side), depth);
  return {layer, row, at: place(layer, row), ...(layer.kind === 'mesh' && layer.triangles ? onSurface(layer, row, point) : {})};
}
