// Mouse and touch: one pointer turns, the right button, Shift or two pointers move, the wheel or two pointers zoom; a click picks,
// and a double click makes what it hits the point to turn around.
const pointers = new Map();
let moved = 0;
const placeOf = (e) => ({x: e.clientX, y: e.clientY});

canvas.onpointerdown = (e) => {
  canvas.setPointerCapture(e.pointerId);
  pointers.set(e.pointerId, placeOf(e));
  moved = pointers.size > 1 ? 100 : 0;
  canvas.classList.add('moving');
};
canvas.onpointermove = (e) => {
  const before = pointers.get(e.pointerId);
  if (!before) return;
  const now = placeOf(e), dx = now.x - before.x, dy = now.y - before.y;
  moved += Math.abs(dx) + Math.abs(dy);
  if (pointers.size > 1) {
    const other = [...pointers].find(([id]) => id !== e.pointerId)[1];
    const was = Math.hypot(before.x - other.x, before.y - other.y), is = Math.hypot(now.x - other.x, now.y - other.y);
    pan(dx / 2, dy / 2);
    if (was > 0 && is > 0) zoom(was / is, (now.x + other.x) / 2, (now.y + other.y) / 2);
  } else if (moved > 3) {
    (e.buttons & 6 || e.shiftKey ? pan : turn)(dx, dy);
  }
  pointers.set(e.pointerId, now);
  request();
};
canvas.onpointerup = canvas.onpointercancel = (e) => {
  const was = pointers.delete(e.pointerId);
  if (!pointers.size) canvas.classList.remove('moving');
  if (was && e.type === 'pointerup' && e.button === 0 && moved <= 3) showPicked(pick(e.clientX, e.clientY));
};
canvas.ondblclick = (e) => {
  const hit = pick(e.clientX, e.clientY);
  if (hit) camera.target = hit.at;
  request();
};
canvas.addEventListener('wheel', (e) => {
  e.preventDefault();
  zoom(Math.exp(Math.max(-0.5, Math.min(0.5, e.deltaY * (e.deltaMode ? 0.05 : 0.0015)))), e.clientX, e.clientY);
  request();
}, {passive: false});
canvas.oncontextmenu = (e) => e.preventDefault();
canvas.addEventListener('webglcontextlost', () => fail('The graphics driver dropped this page; reload it.'));
window.addEventListener('resize', request);

for (const layer of scene.layers) {
  reach(layer);
  upload(layer);
}
look(scene.from);
fillControls();
showTime();
repaint();
// For scripts and tests: where a row is in the picture, and what is drawn.
window.pcgpu = {scene, camera, view, look, draw, pick, recordOf, projectPoint: project, project: (layer, row) => project(place(scene.layers[layer], row))};
