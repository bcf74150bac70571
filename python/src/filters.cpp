/* Filters of arrays. The Python files pass the addresses of masks and results, which have a value per record. */
#include "binding.h"

namespace {

/* Of outliers: neighbours and standard deviations; with `sparse`: other points and a radius. */
nb::dict find_outliers(nb::tuple cloud, bool sparse, int64_t count, double limit, nb::handle mask, const char *device,
                       int threads) {
    const cloud_view view(cloud);
    auto *bytes = address<uint8_t>(mask);
    pcgpu_outliers found;
    lease context(make_place(device, threads));
    context.call([&] {
        return sparse ? pcgpu_find_sparse(*context, &view.cloud, (float)limit, count, bytes, &found)
                      : pcgpu_find_outliers(*context, &view.cloud, (int)count, limit, bytes, &found);
    });
    note_backend(found.run);
    return to_dict(&found, outliers_fields);
}

void find_normals(nb::tuple cloud, int k, float radius, nb::object viewpoint, nb::handle mask, nb::handle normals,
                  const char *device, int threads) {
    const cloud_view view(cloud);
    double from[3];
    for (int c = 0; c < 3 && !viewpoint.is_none(); c++) {
        from[c] = nb::cast<double>(viewpoint[c]);
    }
    const double *place = viewpoint.is_none() ? nullptr : from;
    const auto *bytes = address<const uint8_t>(mask);
    auto *out = address<float>(normals);
    pcgpu_run run;
    lease context(make_place(device, threads));
    context.call([&] { return pcgpu_find_normals(*context, &view.cloud, k, radius, place, bytes, out, &run); });
    note_backend(run);
}

int64_t find_clusters(nb::tuple cloud, nb::dict values, nb::handle mask, nb::handle clusters, const char *device,
                      int threads) {
    const cloud_view view(cloud);
    pcgpu_cluster_params params;
    pcgpu_cluster_params_init(&params);
    fill(&params, cluster_params_fields, values, "clusters");
    const auto *bytes = address<const uint8_t>(mask);
    auto *out = address<int32_t>(clusters);
    int64_t count = 0;
    pcgpu_run run;
    lease context(make_place(device, threads));
    context.call([&] { return pcgpu_find_clusters(*context, &view.cloud, &params, bytes, out, &count, &run); });
    note_backend(run);
    return count;
}

/* `mask`: in: 1 takes part, out: 1 on the ground. */
void find_ground(nb::tuple cloud, nb::dict values, nb::handle mask, int threads) {
    const cloud_view view(cloud);
    pcgpu_ground_params params;
    pcgpu_ground_params_init(&params);
    fill(&params, ground_params_fields, values, "ground");
    auto *bytes = address<uint8_t>(mask);
    lease context(make_place("cpu", threads));
    context.call([&] { return pcgpu_find_ground(*context, &view.cloud, &params, bytes, nullptr); });
}

} // namespace

void bind_filters(nb::module_ &m) {
    m.def("find_outliers", &find_outliers, nb::arg("cloud"), nb::arg("sparse"), nb::arg("count"), nb::arg("limit"),
          nb::arg("mask"), nb::arg("device"), nb::arg("threads"), "Clears the mask of outliers.");
    m.def("find_normals", &find_normals, nb::arg("cloud"), nb::arg("k"), nb::arg("radius"),
          nb::arg("viewpoint").none(), nb::arg("mask").none(), nb::arg("normals"), nb::arg("device"),
          nb::arg("threads"), "Normals and curvatures, into memory of the caller.");
    m.def("find_clusters", &find_clusters, nb::arg("cloud"), nb::arg("params"), nb::arg("mask").none(),
          nb::arg("clusters"), nb::arg("device"), nb::arg("threads"), "Ids of clusters, into memory of the caller.");
    m.def("find_ground", &find_ground, nb::arg("cloud"), nb::arg("params"), nb::arg("mask"), nb::arg("threads"),
          "Leaves the ground in the mask.");
}
