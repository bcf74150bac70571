"""A data set of a folder of scans for torch.utils.data.DataLoader, with workers by fork or by spawn."""
import pathlib

import pcgpu


class ScanFolder:
    """The scans of a folder, each sampled to `count` points: item i is (points (count, C) float32, name).

    Each worker process computes on one thread; the workers are the parallelism."""

    def __init__(self, folder, count, *, fields=0, suffix='.bin'):
        self.paths = sorted(path for path in pathlib.Path(folder).iterdir() if path.name.endswith(suffix))
        self.count, self.fields = count, fields

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, i):
        points = pcgpu.read(self.paths[i], fields=self.fields, threads=1).points
        return points[pcgpu.sample(points, self.count, threads=1)], self.paths[i].name
