"""Draws the bar chart of README from the tables of BENCHMARKS.md: chart.py BENCHMARKS.md > testdata/pictures/peers.svg"""
import re
import sys

# Title, unit, and bars: (label, section of BENCHMARKS.md and a word before the table, start of a row, column, which number of the cell).
GROUPS = [
    ('Farthest point sampling, 120,268 to 4,096 points, one core', 'ms', [
        ('pcgpu', 'Farthest point sampling', 'KITTI, 120268 points, 4096 picks', 1, 0),
        ('fpsample, best setting', 'Farthest point sampling', 'KITTI, 120268 points, 4096 picks', 2, 0)]),
    ('The same on an H200', 'ms', [
        ('pcgpu', 'Farthest point sampling: H200,', 'KITTI, 120268 points, 4096 picks', 1, 0),
        ('kernel of PointNet++', 'Farthest point sampling: H200,', 'KITTI, 120268 points, 4096 picks', 2, 0)]),
    ("PointPillars' voxels of a scan, one core", 'ms', [
        ('pcgpu', 'Voxelization', 'KITTI, 120268 points, pillar 0.16 m', 1, 0),
        ('spconv', 'Voxelization', 'KITTI, 120268 points, pillar 0.16 m', 2, 0)]),
    ('Registration of two scans of 125,000 points, one core', 'ms', [
        ('pcgpu', 'Registration', 'KITTI 00, 1 onto 0, ndt', 1, 0),
        ('KISS-ICP', 'Registration', 'KITTI 00, 1 onto 0, ndt', 5, 0),
        ('small_gicp, VGICP', 'Registration', 'KITTI 00, 1 onto 0, ndt', 4, 0)]),
    ('Its error on exact halves of KITTI scans, median', 'mm', [
        ('pcgpu', 'Registration: Accuracy', 'pcgpu ndt |', 1, 0),
        ('small_gicp, VGICP', 'Registration: Accuracy', 'small_gicp VGICP', 1, 0),
        ('small_gicp, point-to-plane', 'Registration: Accuracy', 'small_gicp point-to-plane', 1, 0),
        ('Open3D, point-to-plane', 'Registration: Accuracy', 'Open3D point-to-plane', 1, 0)]),
]
WIDTH, LABEL, BAR, ROW = 760, 210, 400, 22


def find(text, section, row, column, number):
    section, _, after = section.partition(': ')
    part = re.search(rf'^## {section}$.*?(?=^## |\Z)', text, re.M | re.S).group()
    for line in part[part.index(after):].splitlines():
        if line.startswith('| ' + row):
            return float(re.findall(r'\d+(?:\.\d+)?', line[2:-2].split(' | ')[column])[number])
    raise SystemExit(f'BENCHMARKS.md: no row "{row}" in {section}')


def draw(text):
    y, out = 10, []
    for title, unit, bars in GROUPS:
        out.append(f'<text x="0" y="{y + 14}" class="title">{title}</text>')
        y += ROW + 2
        values = [find(text, *bar[1:]) for bar in bars]
        for (label, *_), value in zip(bars, values):
            length = max(1.5, BAR * value / max(values))
            times = '' if value == values[0] else f' ({value / values[0]:.{0 if value > 10 * values[0] else 1}f} x)'
            out.append(f'<text x="{LABEL - 8}" y="{y + 14}" class="label">{label}</text>'
                       f'<rect x="{LABEL}" y="{y + 3}" width="{length:.1f}" height="14" '
                       f'fill="{"#21918c" if label == "pcgpu" else "#b0b7bf"}"/>'
                       f'<text x="{LABEL + length + 6:.1f}" y="{y + 14}">{value:g} {unit}{times}</text>')
            y += ROW
        y += 10
    style = ('text{font:13px sans-serif;fill:#57606a}.title{font-weight:bold;fill:#24292f}.label{text-anchor:end}'
             '@media(prefers-color-scheme:dark){text{fill:#9aa4af}.title{fill:#e6edf3}}')
    return '\n'.join([f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y}" width="{WIDTH}" height="{y}" '
                      f'role="img"><style>{style}</style>', *out, '</svg>', ''])


sys.stdout.write(draw(open(sys.argv[1], encoding='utf-8').read()))
