"""Joins the parts of the page and writes them as two arrays of C, before and after the data: page_array.py OUT HTML PART..."""
import os
import sys

out, html, *parts = sys.argv[1:]
text = {os.path.basename(p): open(p, encoding='utf-8').read() for p in parts}
page = open(html, encoding='utf-8').read()
for name in list(text):
    mark = '/* ' + name + ' */'
    assert mark in page, name
    page = page.replace(mark, text.pop(name))
halves = page.split('<!-- data -->\n')
assert len(halves) == 2
with open(out, 'w', encoding='ascii') as file:
    file.write('/* Made by page_array.py. */\n#include "page_parts.h"\n')
    for name, half in zip(('head', 'tail'), halves):
        data = half.encode()
        file.write(f'\nconst unsigned char pc_page_{name}[] = {{\n')
        for i in range(0, len(data), 32):
            file.write(','.join(map(str, data[i:i + 32])) + ',\n')
        file.write(f'}};\nconst size_t pc_page_{name}_size = sizeof pc_page_{name};\n')
