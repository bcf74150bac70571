/* Sampling and voxels of arrays in the memory of a GPU. The Python files pass addresses, which they have checked. */
#include "binding.h"

#include <nanobind/stl/vector.h>

#include <map>
#include <memory>

namespace {

/* The memory of a context serves one call after the other on one stream, so each stream has its own context, which it
 * keeps: a CUDA graph of a call uses that memory. */
owner &context_of(int device, uintptr_t stream) {
    static auto *contexts = new std::map<std::pair<int, uintptr_t>, std::unique_ptr<owner>>; /* with the GIL */
    auto &found = (*contexts)[{device, stream}];
    if (!found) {
        found = std::make_unique<owner>(make_place(("cuda:" + std::to_string(device)).c_str(), 1), "GPU stream");
    }
    return *found;
}

template <class T> T *address(nb::handle value) {
    return value.is_none() ? nullptr : reinterpret_cast<T *>(nb::cast<uintptr_t>(value));
}

/* points: address, floats per record, clouds, records per cloud, and offsets or None. picks: addresses of indices,
 * distances, numbers. */
void sample_device(nb::tuple points, nb::dict values, nb::tuple picks, int device, uintptr_t stream) {
    pcgpu_sample_params params;
    pcgpu_sample_params_init(&params);
    fill(&params, sample_params_fields, values, "sample");
    const auto offsets = points[4].is_none() ? std::vector<int64_t>() : nb::cast<std::vector<int64_t>>(points[4]);
    const pcgpu_clouds clouds = {address<const float>(points[0]), nb::cast<int64_t>(points[1]),
                                        nb::cast<int64_t>(points[2]), nb::cast<int64_t>(points[3]),
                                        offsets.empty() ? nullptr : offsets.data()};
    const pcgpu_device_picks out = {address<void>(picks[0]), 4, address<float>(picks[1]), address<int32_t>(picks[2])};
    owner &context = context_of(device, stream);
    context.call([&] {
        return pcgpu_sample_device(*context, reinterpret_cast<void *>(stream), &clouds, &params, &out);
    });
}

/* points: address, records, columns. voxels: addresses of features, coords, counts, point_voxel, count. */
void voxelize_device(nb::tuple points, nb::dict values, nb::tuple voxels, int device, uintptr_t stream) {
    pcgpu_voxelize_params params;
    pcgpu_voxelize_params_init(&params);
    fill(&params, voxelize_params_fields, values, "voxelize");
    const auto *data = address<const float>(points[0]);
    const int64_t rows = nb::cast<int64_t>(points[1]);
    const int columns = nb::cast<int>(points[2]);
    const pcgpu_device_voxels out = {address<float>(voxels[0]), address<int32_t>(voxels[1]), address<int32_t>(voxels[2]),
                                     address<int32_t>(voxels[3]), address<int32_t>(voxels[4])};
    owner &context = context_of(device, stream);
    context.call([&] {
        return pcgpu_voxelize_device(*context, reinterpret_cast<void *>(stream), data, rows, columns, &params, &out);
    });
}

} // namespace

void bind_device(nb::module_ &m) {
    m.def("sample_device", &sample_device, nb::arg("points"), nb::arg("params"), nb::arg("picks"), nb::arg("device"),
          nb::arg("stream"), "The picks of clouds on a GPU.");
    m.def("voxelize_device", &voxelize_device, nb::arg("points"), nb::arg("params"), nb::arg("voxels"), nb::arg("device"),
          nb::arg("stream"), "The voxels of a cloud on a GPU.");
}
