/* Sampling and voxels of arrays in the memory of a GPU, and neighbours. The Python files pass addresses, which they have
 * checked. */
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

/* Clouds in one array: address, floats per record, clouds, records per cloud, and offsets or None. */
struct joined {
    explicit joined(nb::tuple parts)
        : offsets(parts[4].is_none() ? std::vector<int64_t>() : nb::cast<std::vector<int64_t>>(parts[4])),
          clouds{address<const float>(parts[0]), nb::cast<int64_t>(parts[1]), nb::cast<int64_t>(parts[2]),
                 nb::cast<int64_t>(parts[3]), offsets.empty() ? nullptr : offsets.data()} {
    }
    /* The clouds of the other where they are these: the library then sorts them once. */
    const pcgpu_clouds *or_same(const joined &other) const {
        const bool same =
            clouds.data == other.clouds.data && offsets == other.offsets && clouds.rows == other.clouds.rows;
        return same ? &other.clouds : &clouds;
    }
    std::vector<int64_t> offsets;
    pcgpu_clouds clouds;
};

/* picks: addresses of indices, distances, numbers. */
void sample_device(nb::tuple points, nb::dict values, nb::tuple picks, int device, uintptr_t stream) {
    pcgpu_sample_params params;
    const auto starts = fill_sample(&params, values);
    const joined from(points);
    const pcgpu_device_picks out = {address<void>(picks[0]), 4, address<float>(picks[1]), address<int32_t>(picks[2])};
    owner &context = context_of(device, stream);
    context.call(
        [&] { return pcgpu_sample_device(*context, reinterpret_cast<void *>(stream), &from.clouds, &params, &out); });
}

pcgpu_neighbors_params neighbors_params(nb::dict values) {
    pcgpu_neighbors_params params;
    pcgpu_neighbors_params_init(&params);
    fill(&params, neighbors_params_fields, values, "neighbors");
    return params;
}

/* Address and bytes of the indices, addresses of distances and counts. */
pcgpu_neighbor_lists neighbor_lists(nb::tuple lists) {
    return {address<void>(lists[0]), nb::cast<int>(lists[1]), address<float>(lists[2]), address<int32_t>(lists[3])};
}

void neighbors(nb::tuple points, nb::tuple queries, nb::dict values, nb::tuple lists, const char *device, int threads) {
    const pcgpu_neighbors_params params = neighbors_params(values);
    const joined of(points), from(queries);
    const pcgpu_neighbor_lists out = neighbor_lists(lists);
    pcgpu_run run;
    lease context(make_place(device, threads));
    context.call([&] { return pcgpu_neighbors(*context, &of.clouds, from.or_same(of), &params, &out, &run); });
    note_backend(run);
}

void neighbors_device(nb::tuple points, nb::tuple queries, nb::dict values, nb::tuple lists, int device,
                      uintptr_t stream) {
    const pcgpu_neighbors_params params = neighbors_params(values);
    const joined of(points), from(queries);
    const pcgpu_neighbor_lists out = neighbor_lists(lists);
    owner &context = context_of(device, stream);
    context.call([&] {
        return pcgpu_neighbors_device(*context, reinterpret_cast<void *>(stream), &of.clouds, from.or_same(of), &params,
                                      &out);
    });
}

void points_in_boxes(nb::tuple points, nb::handle boxes, int64_t count, nb::handle first, nb::handle inside,
                     const char *device, int threads) {
    const joined of(points);
    const auto *numbers = address<const float>(boxes);
    auto *lowest = address<int32_t>(first);
    auto *rows = address<uint8_t>(inside);
    pcgpu_run run;
    lease context(make_place(device, threads));
    context.call([&] { return pcgpu_points_in_boxes(*context, &of.clouds, numbers, count, lowest, rows, &run); });
    note_backend(run);
}

void points_in_boxes_device(nb::tuple points, nb::handle boxes, int64_t count, nb::handle first, nb::handle inside,
                            int device, uintptr_t stream) {
    const joined of(points);
    const auto *numbers = address<const float>(boxes);
    auto *lowest = address<int32_t>(first);
    auto *rows = address<uint8_t>(inside);
    owner &context = context_of(device, stream);
    context.call([&] {
        return pcgpu_points_in_boxes_device(*context, reinterpret_cast<void *>(stream), &of.clouds, numbers, count,
                                            lowest, rows);
    });
}

/* points: address, records, columns. The others as for find_outliers of filters.cpp. */
void find_outliers_device(nb::tuple points, bool sparse, int64_t count, double limit, nb::handle mask, int device,
                          uintptr_t stream) {
    const auto *data = address<const float>(points[0]);
    const int64_t rows = nb::cast<int64_t>(points[1]);
    const int columns = nb::cast<int>(points[2]);
    auto *bytes = address<uint8_t>(mask);
    auto *on = reinterpret_cast<void *>(stream);
    owner &context = context_of(device, stream);
    context.call([&] {
        return sparse ? pcgpu_find_sparse_device(*context, on, data, rows, columns, (float)limit, count, bytes)
                      : pcgpu_find_outliers_device(*context, on, data, rows, columns, (int)count, limit, bytes);
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
    const pcgpu_device_voxels out = {address<float>(voxels[0]), address<int32_t>(voxels[1]),
                                     address<int32_t>(voxels[2]), address<int32_t>(voxels[3]),
                                     address<int32_t>(voxels[4])};
    owner &context = context_of(device, stream);
    context.call([&] {
        return pcgpu_voxelize_device(*context, reinterpret_cast<void *>(stream), data, rows, columns, &params, &out);
    });
}

} // namespace

void bind_device(nb::module_ &m) {
    m.def("sample_device", &sample_device, nb::arg("points"), nb::arg("params"), nb::arg("picks"), nb::arg("device"),
          nb::arg("stream"), "The picks of clouds on a GPU.");
    m.def("neighbors", &neighbors, nb::arg("points"), nb::arg("queries"), nb::arg("params"), nb::arg("lists"),
          nb::arg("device"), nb::arg("threads"), "The neighbours of records, into memory of the caller.");
    m.def("neighbors_device", &neighbors_device, nb::arg("points"), nb::arg("queries"), nb::arg("params"),
          nb::arg("lists"), nb::arg("device"), nb::arg("stream"), "The neighbours of records on a GPU.");
    m.def("points_in_boxes", &points_in_boxes, nb::arg("points"), nb::arg("boxes"), nb::arg("count"),
          nb::arg("first").none(), nb::arg("inside").none(), nb::arg("device"), nb::arg("threads"),
          "The boxes of records, into memory of the caller.");
    m.def("points_in_boxes_device", &points_in_boxes_device, nb::arg("points"), nb::arg("boxes"), nb::arg("count"),
          nb::arg("first").none(), nb::arg("inside").none(), nb::arg("device"), nb::arg("stream"),
          "The boxes of records on a GPU.");
    m.def("find_outliers_device", &find_outliers_device, nb::arg("points"), nb::arg("sparse"), nb::arg("count"),
          nb::arg("limit"), nb::arg("mask"), nb::arg("device"), nb::arg("stream"),
          "Clears the mask on a GPU of outliers.");
    m.def("voxelize_device", &voxelize_device, nb::arg("points"), nb::arg("params"), nb::arg("voxels"),
          nb::arg("device"), nb::arg("stream"), "The voxels of a cloud on a GPU.");
}
