"""A headless Chromium with WebGL by software, through the DevTools protocol: with Browser(name) as b: b.open(path); b.run(script).
The websocket is the client's side of RFC 6455, as far as the protocol needs it."""
import base64
import json
import os
import shutil
import socket
import struct
import subprocess
import tempfile
import time
import urllib.request

FLAGS = ['--headless=new', '--no-sandbox', '--use-gl=angle', '--use-angle=swiftshader', '--enable-unsafe-swiftshader', '--hide-scrollbars',
         '--no-first-run', '--disable-extensions', '--disable-background-networking', '--disable-dev-shm-usage', '--disable-component-update',
         '--force-device-scale-factor=1', '--remote-debugging-port=0']


class Socket:
    def __init__(self, url):
        host, path = url.removeprefix('ws://').split('/', 1)
        name, port = host.split(':')
        self.s = socket.create_connection((name, int(port)), timeout=60)
        key = base64.b64encode(os.urandom(16)).decode()
        self.s.sendall(f'GET /{path} HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n'
                       f'Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n'.encode())
        self.held = b''
        while b'\r\n\r\n' not in self.held:
            self.held += self.s.recv(4096)
        head, self.held = self.held.split(b'\r\n\r\n', 1)
        assert b' 101 ' in head.split(b'\r\n')[0], head

    def take(self, n):
        while len(self.held) < n:
            part = self.s.recv(1 << 20)
            assert part, 'the browser closed the connection'
            self.held += part
        out, self.held = self.held[:n], self.held[n:]
        return out

    def send(self, text):
        data, mask = text.encode(), os.urandom(4)
        n = len(data)
        size = bytes([128 | n]) if n < 126 else bytes([254]) + struct.pack('>H', n) if n < 65536 else bytes([255]) + struct.pack('>Q', n)
        self.s.sendall(b'\x81' + size + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(data)))

    def receive(self):
        text = b''
        while True:
            first, n = self.take(2)
            n = struct.unpack('>H', self.take(2))[0] if n == 126 else struct.unpack('>Q', self.take(8))[0] if n == 127 else n
            data = self.take(n)
            if first & 15 in (0, 1, 2):
                text += data
                if first & 128:
                    return text.decode()


class Browser:
    def __init__(self, program, width=640, height=480):
        self.folder = tempfile.mkdtemp()
        self.errors, self.last = [], 0
        self.process = subprocess.Popen([program, *FLAGS, f'--user-data-dir={self.folder}', f'--window-size={width},{height}', 'about:blank'],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env={**os.environ, 'HOME': self.folder})
        mark = b'DevTools listening on '
        line = next(l for l in self.process.stderr if mark in l)
        at = line.split(mark)[1].decode().strip().removeprefix('ws://').split('/')[0]
        with urllib.request.urlopen(f'http://{at}/json/list', timeout=60) as reply:
            page = next(t for t in json.load(reply) if t['type'] == 'page')
        self.socket = Socket(page['webSocketDebuggerUrl'])
        for domain in ('Runtime', 'Log', 'Page', 'Network'):
            self.call(domain + '.enable')
        self.resize(width, height)

    def resize(self, width, height):
        self.call('Emulation.setDeviceMetricsOverride', width=width, height=height, deviceScaleFactor=1, mobile=False)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def note(self, message):
        """Errors of the console, exceptions, and requests that leave the page."""
        method, p = message.get('method'), message.get('params', {})
        if method == 'Runtime.exceptionThrown':
            self.errors.append(p['exceptionDetails'].get('exception', {}).get('description') or p['exceptionDetails']['text'])
        elif method == 'Runtime.consoleAPICalled' and p['type'] == 'error':
            self.errors.append(str([a.get('value') for a in p['args']]))
        elif method == 'Log.entryAdded' and p['entry']['level'] == 'error':
            self.errors.append(p['entry']['text'])
        elif method == 'Network.requestWillBeSent' and not p['request']['url'].startswith('file:'):
            self.errors.append('a request: ' + p['request']['url'])

    def call(self, name, **params):
        self.last += 1
        self.socket.send(json.dumps({'id': self.last, 'method': name, 'params': params}))
        while True:
            message = json.loads(self.socket.receive())
            self.note(message)
            if message.get('id') == self.last:
                assert 'error' not in message, message
                return message['result']

    def run(self, script):
        """The value of an expression of JavaScript."""
        r = self.call('Runtime.evaluate', expression=script, returnByValue=True, awaitPromise=True)
        assert 'exceptionDetails' not in r, r['exceptionDetails']
        return r['result'].get('value')

    def open(self, path, ready):
        """Opens a file and waits until an expression is true."""
        self.call('Page.navigate', url='file://' + urllib.request.pathname2url(os.path.abspath(path)))
        end = time.monotonic() + 60
        while not self.run(f'document.readyState === "complete" && !!({ready})'):
            assert time.monotonic() < end and not self.errors, self.errors or 'the page does not become ready'
            time.sleep(0.05)

    def mouse(self, kind, x, y, **more):
        self.call('Input.dispatchMouseEvent', type=kind, x=x, y=y, **more)

    def click(self, x, y):
        self.mouse('mousePressed', x, y, button='left', buttons=1, clickCount=1)
        self.mouse('mouseReleased', x, y, button='left', buttons=0, clickCount=1)

    def drag(self, x, y, dx, dy, **more):
        self.mouse('mousePressed', x, y, button='left', buttons=1, clickCount=1, **more)
        for k in range(1, 6):
            self.mouse('mouseMoved', x + dx * k / 5, y + dy * k / 5, button='left', buttons=1, **more)
        self.mouse('mouseReleased', x + dx, y + dy, button='left', buttons=0, clickCount=1, **more)

    def touch(self, begin, end):
        """Fingers that move from one list of places to another."""
        points = lambda t: [{'x': a[0] + (b[0] - a[0]) * t, 'y': a[1] + (b[1] - a[1]) * t, 'id': i} for i, (a, b) in enumerate(zip(begin, end))]
        self.call('Input.dispatchTouchEvent', type='touchStart', touchPoints=points(0))
        for k in range(1, 6):
            self.call('Input.dispatchTouchEvent', type='touchMove', touchPoints=points(k / 5))
        self.call('Input.dispatchTouchEvent', type='touchEnd', touchPoints=[])
