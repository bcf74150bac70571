"""Reads a page of pcgpu view as a browser would, and prints a line per layer: page.py PAGE [RECORDS COLUMNS], where RECORDS is a .bin that
the first layer must agree with, within half a step."""
import base64
import html.parser
import json
import re
import struct
import sys


class Page(html.parser.HTMLParser):
    """The elements, and the texts of the scripts with an id."""

    def __init__(self, text):
        super().__init__(convert_charrefs=False)
        self.tags, self.scripts, self.open = [], {}, None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self.open = dict(attributes).get('id', '') if tag == 'script' else None

    def handle_endtag(self, tag):
        self.open = None

    def handle_data(self, data):
        if self.open is not None:
            self.scripts[self.open] = self.scripts.get(self.open, '') + data


def fail(what):
    sys.exit('FAIL: ' + what)


text = open(sys.argv[1], encoding='utf-8').read()
page = Page(text)
scene = json.loads(page.scripts['scene'])
if re.search(r'https?:|src=|@import|url\(|fetch\(|XMLHttp|import\(', re.sub(r'(?s)<script type="application/json".*?</script>', '', text)):
    fail('the page refers to something else')
if [t for t, a in page.tags if t in ('img', 'link', 'iframe', 'object', 'base')] or any(k.startswith('on') for _, a in page.tags for k in a):
    fail('an element that a page does not have')
if sorted(page.scripts) != sorted(['', 'scene'] + [f'layer{i}' for i in range(len(scene['layers']))]):
    fail(f'the scripts are {sorted(page.scripts)}')
if re.search('[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e<>&\']', page.scripts['scene']):
    fail('a character of a name is not escaped')


def read(layer, data):
    """Positions, columns, colours and records, all of the layer's bytes."""
    n, at = layer['count'], 0

    def take(kind, count):
        nonlocal at
        out = struct.unpack_from(f'<{count}{kind}', data, at)
        at += struct.calcsize(f'<{count}{kind}')
        return out

    codes = take('H', 3 * n)
    layer['xyz'] = [[layer['offset'][k] + layer['low'][k] + codes[3 * i + k] * layer['step'][k] for k in range(3)] for i in range(n)]
    for c in layer['columns']:
        none = 255 if c['bytes'] == 1 else 65535
        codes = take({1: 'B', 2: 'H'}[c['bytes']], n) if c['bytes'] else []
        c['values'] = [float('nan') if v == none else c['low'] + v * c['step'] for v in codes]
    layer['colors'] = take('B', 3 * n) if layer['rgb'] else ()
    layer['corners'] = take('I' if n > 65536 else 'H', 3 * layer['triangles'])
    layer['record'] = list(range(n))
    if layer['records']:
        before = -1
        for i in range(n):
            step = shift = 0
            while True:
                byte = data[at]
                at += 1
                step |= (byte & 127) << shift
                shift += 7
                if byte < 128:
                    break
            before += step
            layer['record'][i] = before
    if at != len(data):
        fail(f'{len(data)} bytes, of which {at} are described')


for i, layer in enumerate(scene['layers']):
    read(layer, base64.b64decode(page.scripts[f'layer{i}'], validate=True))
    print(json.dumps(layer['name']), layer['kind'], layer['count'], layer['total'], layer['outside'],
          ','.join(f'{c["name"]}:{c["bytes"]}' for c in layer['columns']), 'rgb' if layer['rgb'] else '-')

if len(sys.argv) > 2:
    data, columns, layer = open(sys.argv[2], 'rb').read(), int(sys.argv[3]), scene['layers'][0]
    for i, record in enumerate(layer['record']):
        values = struct.unpack_from(f'<{columns}f', data, 4 * columns * record)
        for k in range(3):
            if abs(layer['xyz'][i][k] - values[k]) > 0.5001 * layer['step'][k] + 1e-9:
                fail(f'record {record}: {layer["xyz"][i]} rather than {values}')
        for c, v in zip(layer['columns'], values[3:]):
            if v - v == 0 and c['values'] and abs(c['values'][i] - v) > 0.5001 * c['step'] or (v - v != 0) != (c['values'][i] != c['values'][i]):
                fail(f'record {record}: {c["name"]} is {c["values"][i]} rather than {v}')
