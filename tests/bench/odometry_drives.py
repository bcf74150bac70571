"""The table of KITTI on drives rendered along its real paths: a part of odometry.py.

Sequences 00, 05 and 07 (PCGPU_DATA/kitti_poses) by tests/scene/drive.c: 64 beams that point 0.205 degree higher than they say, 2 cm
of noise, rolling sweeps, streets with parked and moving cars, stretches without houses. Three inputs: scans as they come, deskewed, and
deskewed with the beams corrected. Translation and rotation errors over 100, 200, ... 800 m as KITTI takes them and scans per second
of processor time on one thread; KISS-ICP beside it, deskewing where pcgpu does. The poses of pcgpu must be the same in a second run,
on two threads and on 16, and on CUDA."""
import pathlib
import re
import subprocess
import tempfile

from targets import BEAMS, kiss_icp, stop

MOST_PERCENT, LEAST_SPEED = 0.40, 140
INPUTS = {'as they come': (False, 0.0), 'deskewed': (True, 0.0), 'deskewed, beams corrected': (True, BEAMS)}
LINE = re.compile(r'^\w+ .* ([\d.]+) of processors .* ([\d.]+) scans/s, (\d+) of \d+ lost.* 100 m and more ([\d.naninf-]+) % '
                  r'([\d.naninf-]+) deg.*poses (\w+)', re.M)


def run_pcgpu(build, folder, deskew, beams, threads, *options):
    """Percent, degrees per 100 m, scans per second of a processor, lost scans, hash of the poses, scans per second; one for each
    back end."""
    command = [build.test('bench/bench_odometry'), *options, str(folder), '8192', str(threads), 'model', 'fields=5',
               f'deskew={int(deskew)}', f'beams={beams}']
    text = subprocess.run(command, stdout=subprocess.PIPE, text=True).stdout
    found = LINE.findall(text)
    if len(found) != 1 + len(options):
        stop(f'not understood: {text}')
    return [(float(percent), float(degrees), 1e3 / float(milliseconds), int(lost), poses, float(speed))
            for milliseconds, speed, lost, percent, degrees, poses in found]


def measure(build, folder, name, results):
    """A line per input."""
    for title, (deskew, beams) in INPUTS.items():
        (percent, degrees, speed, lost, poses, _), = run_pcgpu(build, folder, deskew, beams, 1)
        others = [run_pcgpu(build, folder, deskew, beams, threads)[0] for threads in (1, 2, 16)]
        same, speed = all(other[4] == poses for other in others), max(speed, others[0][2])
        peer = None if title == 'deskewed' and not build.long else kiss_icp(build, folder, 5, deskew, beams)
        row = {'percent': percent, 'degrees': degrees, 'time': 1 / speed, 'runs': 4, 'lost': lost, 'same': same}
        beside = 'not measured'
        if peer and peer['segment_translation'] is not None:
            row.update(peer_percent=100 * peer['segment_translation'], peer_degrees=5729.578 * peer['segment_rotation'],
                       peer_time=1 / peer['processor_speed'])
            beside = f'{row["peer_percent"]:8.3f} % {row["peer_degrees"]:7.3f} deg {peer["processor_speed"]:6.1f}/s'
        results.setdefault(title, []).append(row)
        print(f'{name:9} {title:26} {percent:8.4f} % {degrees:7.4f} deg {speed:6.1f}/s {lost:4} lost'
              f'  {"same bytes" if same else "BYTES DIFFER"}  KISS-ICP {beside}', flush=True)


def mean(rows, key):
    """None when not all have it."""
    return sum(row[key] for row in rows) / len(rows) if all(key in row for row in rows) else None


def report(table, results, on):
    for title, rows in results.items():
        peer = f'; KISS-ICP {mean(rows, "peer_percent"):8.4f} % {mean(rows, "peer_degrees"):7.4f} deg' if mean(rows, 'peer_time') else ''
        print(f'mean      {title:26} {mean(rows, "percent"):8.4f} % {mean(rows, "degrees"):7.4f} deg per 100 m{peer}')
    rows, every = results['deskewed, beams corrected'], sum(results.values(), [])
    percent, speed, peer = mean(rows, 'percent'), 1 / mean(rows, 'time'), mean(rows, 'peer_time')
    table.add('drives: mean segment error', f'<= {MOST_PERCENT:.2f} %', f'{percent:.4f} %, {mean(rows, "degrees"):.4f} deg/100m'
              + (f' (KISS-ICP {mean(rows, "peer_percent"):.3f}, {mean(rows, "peer_degrees"):.3f})' if peer else ''),
              percent <= MOST_PERCENT, on, not percent <= MOST_PERCENT)
    table.add('drives: speed on one core', f'>= {LEAST_SPEED} /s', f'{speed:.0f} /s'
              + (f' (KISS-ICP {1 / peer:.0f}, {speed * peer:.1f} x)' if peer else ''), speed >= LEAST_SPEED, on + '; processor time')
    same, runs = all(row['same'] for row in every), sum(row['runs'] for row in every)
    table.add('drives: spread over runs and threads', '0', f'{"0" if same else "bytes differ"} in {runs} runs', same,
              f'{len(every)} inputs; runs with 1, 1, 2 and 16 threads', not same)


def drives(build, table):
    if not build.path('00'):
        table.skip('drives', 'no paths of KITTI: set PCGPU_DATA')
        return
    frames, results = 200, {}
    for name in ('00',) if build.cuda else ('00', '05', '07'):
        count = len(build.path(name).read_text().splitlines()) if build.long and not build.cuda else frames
        with tempfile.TemporaryDirectory() as temporary:
            folder = build.drive(pathlib.Path(temporary) / 'scans', '--path', build.path(name), '--frames', count, '--moving', 1,
                                 '--moving-cars', 1, '--beams-off', BEAMS)
            if build.cuda:
                cpu, cuda = run_pcgpu(build, folder, True, BEAMS, 0, '--cuda')
                same, percent, on = cpu[4] == cuda[4], cuda[0], f'00, {count} scans, 57,600 firings, beams corrected'
                table.add('drives: segment error on CUDA', f'<= {MOST_PERCENT:.2f} %', f'{percent:.4f} %, {cuda[1]:.4f} deg/100m; '
                          f'{cuda[5]:.0f} scans/s', percent <= MOST_PERCENT, on, not percent <= MOST_PERCENT)
                table.add('drives: poses of CUDA', 'those of the CPU', 'same bytes' if same else 'bytes differ', same, on, not same)
            else:
                measure(build, folder, f'{name}, {count}', results)
    if not build.cuda:
        report(table, results, f'00, 05, 07, {"all" if build.long else f"{frames} each"}, 57,600 firings, beams corrected')
