"""Room scans that share 30 to 85 % of their points, from depth frames of 7-Scenes: every eighth of the 75 pairs of a list is registered without
an initial transform and accepted; frames of another room are declined, and those whose surfaces agree by chance. The poses of the list
are KinectFusion's, which drift by some centimetres and up to 3.5 degrees between distant frames."""
import json

import numpy as np

from common import *

FRAMES = sorted(data('depth_7scenes_path').glob('*.depth.png')) if data('depth_7scenes_path') else []
LIST = data('../cases/geometry/overlap_7scenes.txt')
OTHER_ROOM = data('depth_livingroom/00000.png')
METRES, DEGREES = .12, 4
BY_CHANCE = (57, 12), (42, 7), (35, 20)


def pose_of(frame):
    return np.loadtxt(str(frame).replace('depth.png', 'pose.txt'))


def pairs_of_list():
    rows = [line.split() for line in LIST.read_text().splitlines() if line and line[0] != '#'][::8]
    return [(FRAMES[int(row[0])], FRAMES[int(row[1])], row[2]) for row in rows]


def cloud_of(folder, frame):
    return folder / f'{frame.name}.npy'


def write_clouds(folder):
    """Of all frames that are used."""
    used = {frame for source, target, _ in pairs_of_list() for frame in (source, target)}
    used = [*used.union(FRAMES[::20], (FRAMES[k] for pair in BY_CHANCE for k in pair)), OTHER_ROOM]
    for frame, image in zip(used, read_pngs(used)):
        camera = (525, 525, 319.5, 239.5) if frame == OTHER_ROOM else (585, 585, 320, 240)
        np.save(cloud_of(folder, frame), points_of_image(image, *camera))


def register(folder, source, target, code, *more):
    run('register', source, target, *more, '-f', '--json', folder / 'r.json', code=code)
    return json.loads((folder / 'r.json').read_text())['result']


def test_overlap(folder):
    for source, target, share in pairs_of_list():
        clouds = cloud_of(folder, source), cloud_of(folder, target)
        result = register(folder, *clouds, 0)
        off = error(np.array(result['T_target_source']).reshape(4, 4), np.linalg.inv(pose_of(target)) @ pose_of(source))
        check(off[0] < METRES and off[1] < DEGREES, f'{source} onto {target}, of which {share} is shared', off)
        check(.15 < result['overlap'] <= 1, 'the part that both could see', result['overlap'])
    passed(f'{len(pairs_of_list())} pairs with partial overlap')
    one, three = (register(folder, *clouds, 0, '--init', 'auto', '--threads', threads) for threads in (1, 3))
    check(one == three, 'the threads do not matter')


def test_other_room(folder):
    other = cloud_of(folder, OTHER_ROOM)
    for frame in FRAMES[::20]:
        for pair in ((cloud_of(folder, frame), other), (other, cloud_of(folder, frame))):
            result = register(folder, *pair, 4)
            check(not result['converged'], f'{frame} and another room: not converged')
    passed(f'{2 * len(FRAMES[::20])} pairs of two rooms: exit 4')


def test_confirmed(folder):
    """Results with a score that is enough, which do not stay where they are when source and target are exchanged: 5.4, 0.34 and 0.15 m off."""
    refused = 0
    for source, target in BY_CHANCE:
        result = register(folder, cloud_of(folder, FRAMES[source]), cloud_of(folder, FRAMES[target]), 4)
        check(not result['converged'], f'{source} onto {target}: not converged')
        refused += 'exchanged' in result['reason']
    check(refused >= 2, 'the reason is that the result is not confirmed', refused)
    passed('3 pairs of which the surfaces agree by chance: exit 4')


if not FRAMES or not LIST or not OTHER_ROOM:
    part_skipped('partial overlap', 'the data is not here')
else:
    with tempfile.TemporaryDirectory() as name:
        write_clouds(pathlib.Path(name))
        test_overlap(pathlib.Path(name))
        test_other_room(pathlib.Path(name))
        test_confirmed(pathlib.Path(name))
finish()
