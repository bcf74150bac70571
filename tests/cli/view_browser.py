"""Opens pages of pcgpu view in a browser: view_browser.py BROWSER FOLDER; view_browser.sh makes the pages and names them."""
import os
import struct
import sys

from browser import Browser

program, folder = sys.argv[1:]
READY = 'window.pcgpu'
checks = 0
# The picture as it is: how many pixels are not the background, how many are rather orange and rather blue, and a sum.
PIXELS = '''(() => { pcgpu.draw(1); const g = document.getElementById('canvas').getContext('webgl2'), w = g.drawingBufferWidth, h = g.drawingBufferHeight;
  const p = new Uint8Array(4 * w * h); g.readPixels(0, 0, w, h, g.RGBA, g.UNSIGNED_BYTE, p);
  let drawn = 0, orange = 0, blue = 0, red = 0, sum = 0;
  for (let i = 0; i < p.length; i += 4) {
    const [r, g, b] = [p[i], p[i + 1], p[i + 2]];
    drawn += Math.abs(r - 0x15) + Math.abs(g - 0x19) + Math.abs(b - 0x1e) > 12;
    orange += r > b + 60 && g > 60; blue += b > r + 60; red += r > g + 60;
    sum = (Math.imul(sum, 31) + r + 256 * g + 65536 * b) | 0;
  }
  return {drawn, orange, blue, red, sum, error: g.getError()}; })()'''


def check(good, what):
    global checks
    checks += 1
    if not good:
        sys.exit('FAIL: ' + what)


def path(name):
    return os.path.join(folder, name)


def open_page(b, name):
    """Without the picture of four samples per pixel that follows each change: software draws it slowly."""
    b.open(path(name), READY)
    b.run('pcgpu.view.fine = false')


def rows(name, columns=4):
    data = open(path(name), 'rb').read()
    return [struct.unpack_from(f'<{columns}f', data, i) for i in range(0, len(data), 4 * columns)]


def picture(b):
    p = b.run(PIXELS)
    check(p['error'] == 0, f'WebGL has the error {p["error"]}')
    check(b.errors == [], f'the console has: {b.errors}')
    return p


def picked(b):
    return b.run('Object.fromEntries([...document.querySelectorAll("#picked td[data-name]")].map(e => [e.dataset.name, e.textContent]))')


def center(b, selector):
    return b.run(f'(() => {{ const r = document.querySelector({selector!r}).getBoundingClientRect(); '
                 'return [r.x + r.width / 2, r.y + r.height / 2]; })()')


def choose(b, selector, value, event='change'):
    b.run(f'(() => {{ const e = document.querySelector({selector!r}); e.value = {value!r}; e.dispatchEvent(new Event({event!r})); }})()')


def picks_records(b, layer, records, error, offset=(0, 0, 0)):
    """A click on the place of a row shows the record of the file."""
    hits = 0
    choose(b, '#size', '1', 'input')  # so that none covers another
    count = b.run(f'pcgpu.scene.layers[{layer}].count')
    for row in range(0, count, max(1, count // 60)):
        record = b.run(f'pcgpu.recordOf(pcgpu.scene.layers[{layer}], {row})')
        x, y = b.run(f'pcgpu.project({layer}, {row})')
        if not (230 < x < 400 and 90 < y < 400):
            continue  # a panel may be there
        b.click(x, y)
        values = picked(b)
        check(values, f'nothing is picked at {x:.1f}, {y:.1f}')
        check(int(values['record']) == record, f'record {values["record"]} is picked rather than {record}')
        for k, axis in enumerate('xyz'):
            got, true = float(values[axis].split()[0]), records[record][k] + offset[k]
            check(abs(got - true) <= error, f'record {record}: {axis} is {got}, in the file {true}')
        if 'intensity' in values:
            check(abs(float(values['intensity']) - records[record][3]) < 2e-3, f'record {record}: intensity {values["intensity"]}')
        hits += 1
        if hits == 8:
            break
    check(hits >= 4, f'only {hits} rows could be clicked')


def two_clouds(b):
    open_page(b, 'two.html')
    p = picture(b)
    check(p['drawn'] > 1000, f'{p["drawn"]} pixels are drawn')
    check(p['orange'] > 300 and p['blue'] > 300, f'the colours of two files: {p}')
    fine = b.run(PIXELS.replace('draw(1)', 'draw(2)'))
    check(fine['error'] == 0 and fine['sum'] != p['sum'] and 0.8 < fine['drawn'] / p['drawn'] < 1.5, f'four samples per pixel: {fine}')
    names = b.run('[...document.querySelectorAll("#layers .name")].map(e => e.textContent)')
    check(names == ['a.bin', 'b.bin'], f'the layers are {names}')
    b.click(*center(b, '#layers input'))  # hides the first
    q = picture(b)
    check(q['orange'] == 0 and q['blue'] > 300, f'the first layer is hidden: {q}')
    b.click(*center(b, '#layers input'))
    check(picture(b)['sum'] == p['sum'], 'the layer is shown again')
    b.drag(300, 300, 80, 30)
    turned = picture(b)
    check(turned['sum'] != p['sum'] and turned['drawn'] > 1000, 'turning changes the picture')
    check(picked(b) == {}, 'a drag picks nothing')
    bar = b.run('document.getElementById("bartext").textContent + document.getElementById("bar").style.width')
    b.mouse('mouseWheel', 320, 240, deltaX=0, deltaY=-400)
    check(picture(b)['sum'] != turned['sum'], 'the wheel changes the picture')
    b.run('new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))')
    check(b.run('document.getElementById("bartext").textContent + document.getElementById("bar").style.width') != bar, 'the scale bar follows')
    before = b.run('pcgpu.camera.target')
    b.drag(300, 300, 40, 0, modifiers=8)  # shift
    check(b.run('pcgpu.camera.target') != before, 'Shift moves the picture')
    distance, yaw = b.run('pcgpu.camera.distance'), b.run('pcgpu.camera.yaw')
    b.touch([(300, 300)], [(340, 300)])
    check(b.run('pcgpu.camera.yaw') != yaw and b.run('pcgpu.camera.distance') == distance, 'a finger turns')
    b.touch([(300, 250), (340, 250)], [(260, 250), (380, 250)])
    check(b.run('pcgpu.camera.distance') < 0.5 * distance, 'two fingers zoom')
    b.click(*center(b, '[data-from=top]'))
    picks_records(b, 1, rows('b.bin'), 0.001)
    flat = picture(b)
    check(b.run('document.getElementById("legend").hidden'), 'one colour per file has no scale')
    for color in ('height', 'axis x', 'column intensity', 'order', 'distance'):
        choose(b, '#color', color)
        check(picture(b)['sum'] != flat['sum'], f'colour {color} is the same picture')
        check(not b.run('document.getElementById("legend").hidden'), f'{color} has a scale')
    grey = picture(b)
    choose(b, '#map', 'turbo')
    check(picture(b)['sum'] != grey['sum'], 'turbo is the same picture as viridis')
    b.click(*center(b, '#edl'))
    check(picture(b)['error'] == 0, 'shading is switched off')


def far_and_damaged(b):
    """Records without a return, not finite and far away: numbers are those of the file."""
    open_page(b, 'damaged.html')
    b.click(*center(b, '[data-from=top]'))
    picks_records(b, 0, rows('damaged.bin'), 0.001)
    check('1 far away left out' in b.run('document.getElementById("layers").textContent'), 'the page states what is left out')
    open_page(b, 'utm.html')
    b.click(*center(b, '[data-from=top]'))
    picks_records(b, 0, rows('a.bin'), 0.002, (500000, 5400000, 100))


def trajectory(b):
    open_page(b, 'path.html')
    p = picture(b)
    check(p['red'] > 100, f'the trajectory is a red line over the cloud: {p}')
    check(b.run('document.getElementById("pose").textContent') == '9.9 s', 'the time of the last pose')
    choose(b, '#when', '500', 'input')
    q = picture(b)
    check(q['sum'] != p['sum'] and b.run('document.getElementById("pose").textContent') == '4.9 s', 'the slider moves the time')
    check(b.run('pcgpu.scene.layers[1].segments.length') == 97, 'the line has a gap at a missing pose')
    check('startend' in b.run('document.getElementById("layers").textContent'), 'the ends of the trajectory are named')
    choose(b, '#color', 'distance')
    check(b.run('document.getElementById("low").textContent + document.getElementById("high").textContent').startswith('\u2264 '), 'the low limit has values below it')
    check('\u2265 ' in b.run('document.getElementById("high").textContent'), 'the high limit has values above it')
    for width in (400, 640, 700, 1000):
        b.resize(width, 700)
        covered = b.run("""(() => {
            const box = id => document.getElementById(id).getBoundingClientRect(), ids = ['layers', 'controls', 'time', 'legend', 'scalebar'];
            const meet = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
            return ids.flatMap((a, i) => ids.slice(i + 1).filter(b => meet(box(a), box(b))).map(b => a + ' ' + b)); })()""")
        check(covered == [], f'at {width} pixels these cover each other: {covered}')
    b.resize(640, 480)
    check('Drag: turn' in b.run('document.getElementById("hint").textContent'), 'how to turn is told')


def surface(b):
    """A click on a mesh gives the point of the triangle under it, and columns between those of its corners."""
    open_page(b, 'plane.html')
    b.click(*center(b, '[data-from=top]'))
    (x0, y0), (x1, y1) = (b.run(f'pcgpu.project(0, {row})') for row in (0, 2))
    for u, v in ((0.3, 0.4), (0.62, 0.41), (0.5, 0.5), (0.45, 0.7)):
        b.click(x0 + u * (x1 - x0), y0 + v * (y1 - y0))
        got = {k: float(value.split()[0]) for k, value in picked(b).items()}
        pixel = 4 / (x1 - x0)
        check(abs(got['x'] - 4 * u) < pixel and abs(got['y'] - 3 * v) < pixel, f'at {4 * u}, {3 * v} is {got}')
        check(abs(got['z'] - got['x'] / 4) < 1e-3 and abs(got['slope'] - 10.125 * got['x'] - got['y']) < 5e-3, f'off the plane: {got}')
    b.click(*center(b, '[data-from=iso]'))
    for x, y in ((300, 260), (340, 240)):
        b.click(x, y)
        got = {k: float(value.split()[0]) for k, value in picked(b).items()}
        check(0 < got['x'] < 4 and 0 < got['y'] < 3 and abs(got['z'] - got['x'] / 4) < 1e-3, f'off the plane: {got}')
        at = b.run(f'pcgpu.pick({x}, {y}).at')
        check(b.run(f'Math.hypot(...pcgpu.projectPoint({at}).map((v, k) => v - [{x}, {y}][k]))') < 1, f'the point is elsewhere in the picture: {got}')


def classes(b):
    """The legend has the classes of most points, with these; colours of clusters are apart."""
    open_page(b, 'classes.html')
    lines = '[...document.getElementById("classes").children].map(e => e.textContent)'
    shown = ['noise600'] + [f'cluster {k}30' for k in range(15)] + ['and 5 more']
    check(b.run(lines) == shown, f'the clusters: {b.run(lines)}')
    check(b.run('document.getElementById("legend").hidden'), 'classes have no scale')
    check(b.run('[...document.querySelectorAll("#classes .swatch")].slice(0, 3).map(e => e.style.background)') ==
          ['rgb(154, 160, 166)', 'rgb(255, 176, 0)', 'rgb(42, 165, 245)'], 'noise is grey, and a colour per cluster')
    choose(b, '#color', 'class')
    check(b.run(lines) == ['noise600', 'never classified200', 'unclassified200', 'ground200'], f'the classes: {b.run(lines)}')
    choose(b, '#color', 'height')
    check(b.run(lines) == [] and not b.run('document.getElementById("legend").hidden'), 'a scale has no classes')


def others(b):
    for name in ('mesh.html', 'voxels.html', 'one.html'):
        open_page(b, name)
        p = picture(b)
        check(p['drawn'] > (2 if name == 'one.html' else 3000), f'{name}: {p}')
        if name == 'voxels.html':
            b.click(320, 300)
            check('count' in picked(b), 'a voxel is picked')


def hostile(b, name):
    open_page(b, 'hostile.html')
    picture(b)
    check(b.run('window.hacked') is None, 'a name of a file runs as a script')
    title, shown = b.run('(e => [e.title, e.textContent])(document.querySelector("#layers .name"))')
    check(title == name, f'the name is {title!r} rather than {name!r}')
    check(shown == f'{name[:12]}\u2026{name[-20:]}', f'a long name is shown as {shown!r}')
    columns = b.run('pcgpu.scene.layers[0].columns.map(c => c.name)')
    check(columns == ['</script><script>hacked=1'], f'the columns are {columns}')
    check(b.run('document.title').startswith(name), 'the title has the name')


with Browser(program) as browser:
    two_clouds(browser)
    far_and_damaged(browser)
    trajectory(browser)
    surface(browser)
    classes(browser)
    others(browser)
    hostile(browser, '<!--<script><img src=x onerror=window.hacked=1>"\'&\ufffd\ufffd\u00e9\ufffd.ply')
print(f'{checks} checks in the browser')
