// Drawing: layers into a texture with depths, then eye-dome lighting (Boucheny 2009) onto the canvas, then trajectories on top.
const canvas = $('canvas');
const gl = canvas.getContext('webgl2', {antialias: false, alpha: false, preserveDrawingBuffer: true});
if (!gl) {
  fail('This page needs WebGL 2, which this browser does not have or has switched off.');
  return;
}
const BACK = [0x15 / 255, 0x19 / 255, 0x1e / 255];
const HEAD = '#version 300 es\nprecision highp float; precision highp int;\n';
const LIT = `float lit(vec3 n) { float l = length(n); return 0.34 + 0.66 * min(l > 0.0 ? abs(dot(n / l, vec3(0.30, 0.42, 0.857))) : 0.7, 1.0); }\n`;
const PROJECT = 'uniform mat4 modelView, projection;\n';
const OUT = `
#ifdef PICK
uniform uint layer; layout(location = 0) out uvec4 picked; // the third: bits of the distance on a mesh
#define SHOW(c, row) picked = uvec4(layer, row, 0u, 0u)
#else
layout(location = 0) out vec4 shown;
#define SHOW(c, row) shown = vec4(c, 1.0)
#endif
`;
const SHADERS = {
  points: [`${PROJECT} uniform float size; layout(location = 0) in vec3 code; layout(location = 1) in vec4 color;
    out vec3 c; flat out uint row;
    void main() { gl_Position = projection * (modelView * vec4(code, 1.0)); gl_PointSize = size; c = color.rgb; row = uint(gl_VertexID); }`,
  `${OUT} uniform float size; in vec3 c; flat in uint row;
    void main() { vec2 d = gl_PointCoord - 0.5; if (size > 2.5 && dot(d, d) > 0.25) discard; SHOW(c, row); }`],
  mesh: [`${PROJECT} uniform mat4 turn; layout(location = 0) in vec3 code; layout(location = 1) in vec4 color; layout(location = 2) in vec3 normal;
    out vec3 c, p, n, ray; flat out uint row;
    void main() { vec4 v = modelView * vec4(code, 1.0); gl_Position = projection * v; c = color.rgb; p = v.xyz; n = mat3(turn) * normal;
      ray = projection[3][3] == 0.0 ? p : vec3(0.0, 0.0, -1.0); row = uint(gl_VertexID); }`,
  `${OUT} ${LIT} uniform bool normals; in vec3 c, p, n, ray; flat in uint row;
    void main() { // a back, by the normals, is dark and lies behind all else: one looks into a room from outside
      vec3 own = cross(dFdx(p), dFdy(p));
      bool known = normals && dot(n, n) > 0.01, back = known && dot(own, ray) * dot(own, n) > 0.0;
      gl_FragDepth = gl_FragCoord.z + (back ? 0.5 : 0.0);
      SHOW(c * lit(known ? n : own) * (back ? 0.4 : 1.0), row);
#ifdef PICK
      picked.z = floatBitsToUint(-p.z);
#endif
    }`],
  boxes: [`${PROJECT} uniform mat4 turn; uniform vec3 halfEdge; layout(location = 0) in vec3 code; layout(location = 1) in vec4 color;
    ${LIT} out vec3 c; out vec2 onFace; flat out uint row;
    const int CORNERS[6] = int[6](0, 1, 2, 2, 1, 3);
    void main() {
      int face = gl_VertexID / 6, axis = face / 2, corner = CORNERS[gl_VertexID % 6];
      vec3 at; at[axis] = face % 2 == 0 ? -1.0 : 1.0;
      at[(axis + 1) % 3] = (corner & 1) == 0 ? -1.0 : 1.0; at[(axis + 2) % 3] = corner < 2 ? -1.0 : 1.0;
      vec3 n = vec3(0.0); n[axis] = 1.0;
      gl_Position = projection * (modelView * vec4(code, 1.0) + vec4(mat3(turn) * (at * halfEdge), 0.0));
      onFace = vec2(at[(axis + 1) % 3], at[(axis + 2) % 3]);
      c = color.rgb * (0.35 + 0.65 * lit(mat3(turn) * n)); row = uint(gl_InstanceID); }`,
  `${OUT} in vec3 c; in vec2 onFace; flat in uint row;
    void main() { // edges, as far as a face has the pixels for them
      vec2 pixel = fwidth(onFace), inside = (1.0 - abs(onFace)) / pixel;
      float edge = 1.0 - smoothstep(0.3, 1.4, min(inside.x, inside.y)), space = clamp(0.25 / max(pixel.x, pixel.y), 0.0, 1.0);
      SHOW(c * (1.0 - 0.45 * edge * space), row);
    }`],
  line: [`${PROJECT} uniform vec2 pixel; uniform float width; layout(location = 0) in vec3 a; layout(location = 1) in vec3 b;
    layout(location = 2) in vec4 colorA; layout(location = 3) in vec4 colorB; layout(location = 4) in uvec2 rows;
    out vec3 c; out float t; flat out uvec2 ends;
    void main() {
      vec4 v = modelView * vec4(a, 1.0), w = modelView * vec4(b, 1.0);
      if (projection[3][3] == 0.0) { // cut at the plane of the camera
        const float near = -1e-3;
        if (v.z > near && w.z > near) { gl_Position = vec4(2.0, 2.0, 2.0, 1.0); return; }
        if (v.z > near) v = mix(w, v, (w.z - near) / (w.z - v.z));
        if (w.z > near) w = mix(v, w, (v.z - near) / (v.z - w.z));
      }
      vec4 p = projection * v, q = projection * w;
      vec2 d = (q.xy / q.w - p.xy / p.w) / pixel;
      d = length(d) > 0.0 ? normalize(d) : vec2(1.0, 0.0);
      bool end = gl_VertexID > 1; float side = (gl_VertexID & 1) == 0 ? -0.5 : 0.5;
      vec4 at = end ? q : p;
      at.xy += (vec2(-d.y, d.x) * side + d * (end ? 0.3 : -0.3)) * width * pixel * at.w;
      at.z = 0.0;
      gl_Position = at; c = end ? colorB.rgb : colorA.rgb; t = end ? 1.0 : 0.0; ends = rows; }`,
  `${OUT} uniform float dim; uniform vec3 ground; in vec3 c; in float t; flat in uvec2 ends;
    void main() { SHOW(mix(ground, c, dim), t < 0.5 ? ends.x : ends.y); }`],
  mark: [`${PROJECT} uniform vec3 at; uniform float size;
    void main() { gl_Position = projection * (modelView * vec4(at, 1.0)); gl_Position.z = 0.0; gl_PointSize = size; }`,
  `uniform vec3 ink; layout(location = 0) out vec4 shown;
    void main() { float r = length(gl_PointCoord - 0.5); if (r > 0.5) discard; shown = vec4(r > 0.34 ? vec3(1.0) : ink, 1.0); }`],
  shade: [`void main() { gl_Position = vec4(gl_VertexID == 1 ? 3.0 : -1.0, gl_VertexID == 2 ? 3.0 : -1.0, 0.0, 1.0); }`,
  `uniform sampler2D colors, depths; uniform int samples; uniform bool edl, perspective; uniform float near, far, slope; uniform vec3 ground;
    layout(location = 0) out vec4 shown;
    float depthAt(ivec2 p) {
      float d = texelFetch(depths, clamp(p, ivec2(0), textureSize(depths, 0) - 1), 0).r;
      if (d == 1.0) return 1e30;
      d = 2.0 * d - (d < 0.5 ? 0.0 : 1.0); // the second half of the range is for backs
      return perspective ? near * far / (far - d * (far - near)) : d * (far - near) + near;
    }
    const vec2 AT[8] = vec2[8](vec2(1, 0), vec2(0, 1), vec2(0.707, 0.707), vec2(-0.707, 0.707), vec2(-1, 0), vec2(0, -1), vec2(-0.707, -0.707), vec2(0.707, -0.707));
    float light(ivec2 p) { // how far it lies behind its neighbours
      float z = depthAt(p), sum = 0.0, pixel = slope * (perspective ? z : 1.0);
      for (int i = 0; i < 16; i++) {
        float reach = float(samples) * (i < 8 ? 1.0 : 3.0);
        float other = depthAt(p + ivec2(round(AT[i % 8] * reach)));
        sum += clamp((z - other) / (pixel * reach), 0.0, 12.0);
      }
      return 0.25 + 0.75 / (1.0 + sum * 0.9 / 16.0);
    }
    void main() {
      vec3 sum = vec3(0.0);
      for (int y = 0; y < samples; y++) for (int x = 0; x < samples; x++) {
        ivec2 p = ivec2(gl_FragCoord.xy) * samples + ivec2(x, y);
        bool empty = texelFetch(depths, p, 0).r == 1.0;
        sum += empty ? ground : texelFetch(colors, p, 0).rgb * (edl ? light(p) : 1.0);
      }
      shown = vec4(sum / float(samples * samples), 1.0);
    }`],
};

function program(name, pick) {
  const p = gl.createProgram();
  SHADERS[name].forEach((text, i) => {
    const s = gl.createShader(i ? gl.FRAGMENT_SHADER : gl.VERTEX_SHADER);
    gl.shaderSource(s, HEAD + (pick ? '#define PICK\n' : '') + text);
    gl.compileShader(s);
    gl.attachShader(p, s);
    if (!gl.getShaderParameter(s, gl.COMPILE_STATUS) && !gl.isContextLost()) throw Error(name + ': ' + gl.getShaderInfoLog(s));
  });
  gl.linkProgram(p);
  if (!gl.getProgramParameter(p, gl.LINK_STATUS) && !gl.isContextLost()) throw Error(name + ': ' + gl.getProgramInfoLog(p));
  const uniforms = {};
  for (let i = 0; i < gl.getProgramParameter(p, gl.ACTIVE_UNIFORMS); i++) {
    const u = gl.getActiveUniform(p, i);
    uniforms[u.name] = gl.getUniformLocation(p, u.name);
  }
  return {p, u: uniforms};
}
const programs = {}, pickers = {};
for (const name of Object.keys(SHADERS)) programs[name] = program(name, false);
for (const name of ['points', 'mesh', 'boxes', 'line']) pickers[name] = program(name, true);

// ---- buffers of the layers

function buffer(data, target = gl.ARRAY_BUFFER) {
  const b = gl.createBuffer();
  gl.bindBuffer(target, b);
  gl.bufferData(target, data, gl.STATIC_DRAW);
  return b;
}
function attribute(at, size, type, normalized, stride, offset, divisor) {
  gl.enableVertexAttribArray(at);
  if (type === gl.UNSIGNED_INT) gl.vertexAttribIPointer(at, size, type, stride, offset);
  else gl.vertexAttribPointer(at, size, type, normalized, stride, offset);
  gl.vertexAttribDivisor(at, divisor);
}

let worldRadius = 0;
function reach(layer) {
  for (let corner = 0; corner < 8; corner++) {
    const v = [0, 1, 2].map((k) => layer.origin[k] + layer.low[k] + (corner >> k & 1) * 65535 * layer.step[k] - middle[k]);
    worldRadius = Math.max(worldRadius, Math.hypot(...v) + Math.hypot(...layer.half));
  }
}

// Segments between poses that follow each other in the file.
function lineSegments(layer) {
  const rows = [], ends = [];
  for (let i = 1; i < layer.count; i++) if (recordOf(layer, i) - recordOf(layer, i - 1) <= layer.every) rows.push(i);
  for (const i of rows) ends.push(...place(layer, i - 1), ...place(layer, i));
  layer.segments = rows;
  return new Float32Array(ends);
}

function upload(layer) {
  layer.vao = gl.createVertexArray();
  layer.colors = gl.createBuffer();
  gl.bindVertexArray(layer.vao);
  if (layer.kind === 'line') {
    buffer(lineSegments(layer));
    attribute(0, 3, gl.FLOAT, false, 24, 0, 1);
    attribute(1, 3, gl.FLOAT, false, 24, 12, 1);
    buffer(new Uint32Array(layer.segments.flatMap((i) => [i - 1, i])));
    attribute(4, 2, gl.UNSIGNED_INT, false, 8, 0, 1);
    gl.bindBuffer(gl.ARRAY_BUFFER, layer.colors);
    attribute(2, 4, gl.UNSIGNED_BYTE, true, 8, 0, 1);
    attribute(3, 4, gl.UNSIGNED_BYTE, true, 8, 4, 1);
  } else {
    const each = layer.kind === 'boxes' ? 1 : 0;
    buffer(layer.codes);
    attribute(0, 3, gl.UNSIGNED_SHORT, false, 6, 0, each);
    gl.bindBuffer(gl.ARRAY_BUFFER, layer.colors);
    attribute(1, 4, gl.UNSIGNED_BYTE, true, 4, 0, each);
  }
  const normals = layer.triangles && normalsOf(layer);
  layer.hasNormals = !!normals;
  layer.front = [0, 0, 0];
  if (normals) {
    const n = new Int8Array(4 * layer.count);
    for (let i = 0; i < layer.count; i++) normals.forEach((c, k) => { n[4 * i + k] = Math.round(127 * Math.max(-1, Math.min(1, valueOf(c, i) || 0))); });
    for (let i = 0; i < 4 * layer.count; i++) if (i % 4 < 3) layer.front[i % 4] += n[i];
    layer.front = turned(layer.front);
    buffer(n);
    attribute(2, 3, gl.BYTE, true, 4, 0, 0);
  }
  if (layer.triangles) buffer(layer.corners, gl.ELEMENT_ARRAY_BUFFER);
  gl.bindVertexArray(null);
}

function recolor() {
  for (const layer of scene.layers) {
    let colors = paint(layer);
    if (layer.kind === 'line') {
      const pairs = new Uint8Array(8 * layer.segments.length);
      layer.segments.forEach((row, s) => pairs.set(colors.subarray(4 * row - 4, 4 * row + 4), 8 * s));
      colors = pairs;
    }
    gl.bindBuffer(gl.ARRAY_BUFFER, layer.colors);
    gl.bufferData(gl.ARRAY_BUFFER, colors, gl.STATIC_DRAW);
  }
}

// ---- targets

function target(format, type, internal, depth) {
  const t = {width: 0, height: 0, frame: gl.createFramebuffer(), color: gl.createTexture(), depth: gl.createTexture()};
  t.resize = (width, height) => {
    if (t.width === width && t.height === height) return;
    [t.width, t.height] = [width, height];
    gl.bindFramebuffer(gl.FRAMEBUFFER, t.frame);
    const make = (texture, inside, outside, kind, where) => {
      gl.bindTexture(gl.TEXTURE_2D, texture);
      gl.texImage2D(gl.TEXTURE_2D, 0, inside, width, height, 0, outside, kind, null);
      gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.NEAREST);
      gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.NEAREST);
      gl.framebufferTexture2D(gl.FRAMEBUFFER, where, gl.TEXTURE_2D, texture, 0);
    };
    make(t.color, internal, format, type, gl.COLOR_ATTACHMENT0);
    make(t.depth, gl.DEPTH_COMPONENT24, gl.DEPTH_COMPONENT, gl.UNSIGNED_INT, gl.DEPTH_ATTACHMENT);
  };
  return t;
}
const picture = target(gl.RGBA, gl.UNSIGNED_BYTE, gl.RGBA8);
const picking = target(gl.RGBA_INTEGER, gl.UNSIGNED_INT, gl.RGBA32UI);

// ---- drawing

function multiply(a, b) {
  const out = new Array(16).fill(0);
  for (let c = 0; c < 4; c++) for (let r = 0; r < 4; r++) for (let k = 0; k < 4; k++) out[4 * c + r] += a[4 * k + r] * b[4 * c + k];
  return out;
}
// From codes to the scene, and from directions of the file to it.
function model(layer, steps) {
  const columns = [0, 1, 2].map((k) => turned([0, 1, 2].map((j) => j === k ? steps[k] : 0)));
  const at = turned([0, 1, 2].map((k) => layer.origin[k] + layer.low[k] - middle[k]));
  return [...columns[0], 0, ...columns[1], 0, ...columns[2], 0, ...at, 1];
}
const UNIT = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1];

function autoSize() {
  let n = 0;
  for (const l of scene.layers) n += l.shown && l.kind === 'points' ? l.count : 0;
  return Math.min(6, Math.max(2, Math.round(0.6 * Math.sqrt(canvas.clientWidth * canvas.clientHeight / Math.max(n, 1))) / 2));
}
const view = {size: scene.pointSize, edl: true, fine: true, when: 1, ratio: 1, picked: null};

function begin(programs, kind, layer, m, pixels) {
  const {p, u} = programs[kind];
  gl.useProgram(p);
  const mv = kind === 'line' ? m.view : multiply(m.view, model(layer, layer.step));
  gl.uniformMatrix4fv(u.modelView, false, mv);
  gl.uniformMatrix4fv(u.projection, false, m.projection);
  if (u.turn) gl.uniformMatrix4fv(u.turn, false, multiply(m.view, model({...layer, low: [0, 0, 0], origin: middle}, [1, 1, 1])));
  if (u.layer) gl.uniform1ui(u.layer, layer.index + 1);
  if (u.size) gl.uniform1f(u.size, Math.max(1, (view.size || autoSize()) * pixels));
  if (u.halfEdge) gl.uniform3fv(u.halfEdge, layer.half);
  if (u.normals) gl.uniform1i(u.normals, layer.hasNormals ? 1 : 0);
  gl.bindVertexArray(layer.vao);
  return u;
}

function drawLayer(list, layer, m, pixels) {
  if (layer.kind === 'boxes') {
    begin(list, 'boxes', layer, m, pixels);
    gl.drawArraysInstanced(gl.TRIANGLES, 0, 36, layer.count);
  } else if (layer.kind === 'mesh' && layer.triangles) {
    begin(list, 'mesh', layer, m, pixels);
    gl.drawElements(gl.TRIANGLES, 3 * layer.triangles, layer.corners instanceof Uint32Array ? gl.UNSIGNED_INT : gl.UNSIGNED_SHORT, 0);
  } else if (layer.kind !== 'line') {
    begin(list, 'points', layer, m, pixels);
    gl.drawArrays(gl.POINTS, 0, layer.count);
  }
}

// Segments in full up to the time of the slider, and pale after it.
function drawLine(list, layer, m, pixels) {
  const now = poseAt(layer), part = layer.segments.filter((row) => row <= now).length, all = layer.segments.length;
  const u = begin(list, 'line', layer, m, pixels);
  gl.uniform2f(u.pixel, 2 / gl.drawingBufferWidth, 2 / gl.drawingBufferHeight);
  gl.uniform1f(u.width, 3 * pixels);
  if (u.ground) gl.uniform3fv(u.ground, BACK);
  const draw = (from, count, dim) => {
    if (u.dim) gl.uniform1f(u.dim, dim);
    gl.bindBuffer(gl.ARRAY_BUFFER, layer.colors); // instances begin at 0: the rest is drawn first, as all
    if (count > 0) gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, count);
  };
  if (part < all) draw(0, all, 0.35);
  draw(0, part, 1);
}

// The ends of trajectories, where the slider stands, and the picked point.
function drawMarks(m, pixels) {
  const {p, u} = programs.mark;
  gl.useProgram(p);
  gl.uniformMatrix4fv(u.modelView, false, m.view);
  gl.uniformMatrix4fv(u.projection, false, m.projection);
  gl.bindVertexArray(null);
  const mark = (at, ink, size) => {
    gl.uniform3fv(u.at, at);
    gl.uniform3fv(u.ink, ink.map((v) => v / 255));
    gl.uniform1f(u.size, size * pixels);
    gl.drawArrays(gl.POINTS, 0, 1);
  };
  for (const layer of shownLayers(true)) {
    const now = poseAt(layer);
    mark(place(layer, 0), [0x2e, 0xcc, 0x71], 10);
    mark(place(layer, layer.count - 1), [0xe7, 0x4c, 0x3c], 10);
    if (now < layer.count - 1) mark(place(layer, now), [0x2a, 0xa5, 0xf5], 13);
  }
  if (view.picked && view.picked.layer.shown) mark(view.picked.at, [0xf0, 0x30, 0xc0], 10);
}

const shownLayers = (line) => scene.layers.filter((l) => l.shown && l.count && (l.kind === 'line') === line);

function draw(samples) {
  const ratio = window.devicePixelRatio || 1, m0 = [Math.round(canvas.clientWidth * ratio), Math.round(canvas.clientHeight * ratio)];
  const [width, height] = m0.map((v) => Math.max(1, v));
  if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
  view.ratio = ratio;
  const m = matrices();
  picture.resize(width * samples, height * samples);
  gl.bindFramebuffer(gl.FRAMEBUFFER, picture.frame);
  gl.viewport(0, 0, picture.width, picture.height);
  gl.enable(gl.DEPTH_TEST);
  gl.depthRange(0, 0.5);
  gl.clearColor(0, 0, 0, 1);
  gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
  for (const layer of shownLayers(false)) drawLayer(programs, layer, m, ratio * samples);
  gl.bindFramebuffer(gl.FRAMEBUFFER, null);
  gl.viewport(0, 0, width, height);
  gl.disable(gl.DEPTH_TEST);
  const {p, u} = programs.shade;
  gl.useProgram(p);
  gl.bindVertexArray(null);
  gl.activeTexture(gl.TEXTURE1);
  gl.bindTexture(gl.TEXTURE_2D, picture.depth);
  gl.activeTexture(gl.TEXTURE0);
  gl.bindTexture(gl.TEXTURE_2D, picture.color);
  gl.uniform1i(u.colors, 0);
  gl.uniform1i(u.depths, 1);
  gl.uniform1i(u.samples, samples);
  gl.uniform1i(u.edl, view.edl ? 1 : 0);
  gl.uniform1i(u.perspective, camera.perspective ? 1 : 0);
  gl.uniform1f(u.near, m.near);
  gl.uniform1f(u.far, m.far);
  gl.uniform1f(u.slope, (camera.perspective ? 1 : camera.distance) * 2 * FOV / (height * samples));
  gl.uniform3fv(u.ground, BACK);
  gl.drawArrays(gl.TRIANGLES, 0, 3);
  for (const layer of shownLayers(true)) drawLine(programs, layer, m, ratio);
  drawMarks(m, ratio);
}
