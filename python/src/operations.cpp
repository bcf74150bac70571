/* Sampling, voxelization and registration of arrays. */
#include "binding.h"

#include <cstring>
#include <memory>

namespace {

using index_array = nb::ndarray<const int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

void free_sampled(pcgpu_sampled *result) {
    pcgpu_sampled_free(result);
}

nb::dict sampled_to_dict(pcgpu_sampled *from) {
    auto *result = new pcgpu_sampled(*from);
    from->indices = nullptr;
    from->distances = nullptr;
    nb::capsule owner = keep<pcgpu_sampled, free_sampled>(result);
    nb::dict out = to_dict(result, sampled_fields);
    out["indices"] = make_array(result->indices, {(size_t)result->count}, owner);
    out["distances"] = nb::none();
    if (result->distances) {
        out["distances"] = make_array(result->distances, {(size_t)result->count}, owner);
    }
    note_backend(result->run);
    return out;
}

/* Results of the library until they are handed over. */
struct sampled_list {
    explicit sampled_list(size_t count) : results(count) {
    }
    ~sampled_list() {
        for (auto &r : results) {
            pcgpu_sampled_free(&r);
        }
    }
    std::vector<pcgpu_sampled> results;
};

nb::list sample(nb::list clouds, nb::dict values, nb::object seeds, const char *device, int threads) {
    pcgpu_sample_params params;
    const auto starts = fill_sample(&params, values);
    index_array chosen;
    if (!seeds.is_none()) {
        chosen = nb::cast<index_array>(seeds, false);
        params.seeds = chosen.data();
        params.seed_count = (int64_t)chosen.shape(0);
    }
    std::vector<std::unique_ptr<cloud_view>> views;
    std::vector<const pcgpu_cloud *> inputs;
    for (nb::handle cloud : clouds) {
        views.push_back(std::make_unique<cloud_view>(cloud));
        inputs.push_back(&views.back()->cloud);
    }
    sampled_list list(inputs.size());
    lease context(make_place(device, threads));
    context.call([&] {
        return inputs.size() == 1
                   ? pcgpu_sample(*context, inputs[0], &params, list.results.data())
                   : pcgpu_sample_batch(*context, inputs.data(), (int)inputs.size(), &params, list.results.data());
    });
    nb::list out;
    for (auto &result : list.results) {
        out.append(sampled_to_dict(&result));
    }
    return out;
}

void free_voxels(pcgpu_voxels *result) {
    pcgpu_voxels_free(result);
}

nb::dict voxels_to_dict(pcgpu_voxels *v, bool padded, size_t points, nb::handle owner) {
    const size_t n = (size_t)v->count, columns = (size_t)v->columns;
    nb::dict out = to_dict(v, voxels_fields);
    out["features"] = padded ? make_array(v->features, {n, (size_t)v->capacity, columns}, owner)
                             : make_array(v->features, {n, columns}, owner);
    out["coords"] = make_array(v->coords, {n, 4}, owner);
    out["counts"] = make_array(v->counts, {n}, owner);
    out["point_voxel"] = make_array(v->point_voxel, {points}, owner);
    out["selected"] = v->selected ? make_array(v->selected, {n}, owner) : nb::none();
    note_backend(v->run);
    return out;
}

nb::dict voxelize(nb::tuple cloud, nb::dict values, const char *device, int threads) {
    pcgpu_voxelize_params params;
    pcgpu_voxelize_params_init(&params);
    fill(&params, voxelize_params_fields, values, "voxelize");
    const bool padded = params.features == PCGPU_FEATURES_POINTS || params.features == PCGPU_FEATURES_PILLAR;
    cloud_view view(cloud);
    auto *result = new pcgpu_voxels();
    nb::capsule owner = keep<pcgpu_voxels, free_voxels>(result);
    lease context(make_place(device, threads));
    context.call([&] { return pcgpu_voxelize(*context, &view.cloud, &params, result); });
    nb::dict out = voxels_to_dict(result, padded, (size_t)view.cloud.rows, owner);
    if (params.features == PCGPU_FEATURES_PILLAR) {
        view.cloud.columns = 0; /* none of its columns is one of the features */
    }
    describe_columns(out, &view.cloud, result->types);
    return out;
}

nb::list registered(const std::vector<pcgpu_registration> &results) {
    nb::list out;
    for (const auto &r : results) {
        note_backend(r.run);
        out.append(to_dict(&r, registration_fields));
    }
    return out;
}

nb::list register_clouds(nb::list pairs, nb::dict values, const char *device, int threads) {
    pcgpu_register_params params;
    pcgpu_register_params_init(&params);
    fill(&params, register_params_fields, values, "register");
    std::vector<std::unique_ptr<cloud_view>> views;
    std::vector<pcgpu_pair> inputs;
    for (nb::handle pair : pairs) {
        views.push_back(std::make_unique<cloud_view>(pair[0]));
        views.push_back(std::make_unique<cloud_view>(pair[1]));
        inputs.push_back({&views[views.size() - 2]->cloud, &views.back()->cloud});
    }
    std::vector<pcgpu_registration> results(inputs.size());
    lease context(make_place(device, threads));
    context.call([&] {
        return inputs.size() == 1
                   ? pcgpu_register(*context, inputs[0].source, inputs[0].target, &params, results.data())
                   : pcgpu_register_pairs(*context, inputs.data(), (int)inputs.size(), &params, results.data());
    });
    return registered(results);
}

/* pairs: address, records and columns of a source and a target on a GPU. */
nb::list register_device(nb::list pairs, nb::dict values, const char *device, int threads, uintptr_t stream) {
    pcgpu_register_params params;
    pcgpu_register_params_init(&params);
    fill(&params, register_params_fields, values, "register");
    std::vector<pcgpu_cloud> clouds(2 * pairs.size());
    std::vector<pcgpu_pair> inputs;
    for (size_t i = 0; i < clouds.size(); i++) {
        nb::handle cloud = pairs[i / 2][i % 2];
        clouds[i] = {};
        clouds[i].data = address<float>(cloud[0]);
        clouds[i].rows = nb::cast<int64_t>(cloud[1]);
        clouds[i].columns = nb::cast<int>(cloud[2]);
    }
    for (size_t i = 0; i < clouds.size(); i += 2) {
        inputs.push_back({&clouds[i], &clouds[i + 1]});
    }
    std::vector<pcgpu_registration> results(inputs.size());
    lease context(make_place(device, threads));
    context.call([&] {
        return pcgpu_register_device(*context, reinterpret_cast<void *>(stream), inputs.data(), (int)inputs.size(),
                                     &params, results.data());
    });
    return registered(results);
}

nb::dict register_all(nb::list clouds, nb::dict values, const char *device, int threads) {
    pcgpu_register_params params;
    pcgpu_register_params_init(&params);
    fill(&params, register_params_fields, values, "register_all");
    std::vector<std::unique_ptr<cloud_view>> views;
    std::vector<const pcgpu_cloud *> inputs;
    for (nb::handle cloud : clouds) {
        views.push_back(std::make_unique<cloud_view>(cloud));
        inputs.push_back(&views.back()->cloud);
    }
    pcgpu_set set;
    lease context(make_place(device, threads));
    context.call([&] { return pcgpu_register_all(*context, inputs.data(), (int)inputs.size(), &params, &set); });
    const std::unique_ptr<pcgpu_set, void (*)(pcgpu_set *)> owner(&set, pcgpu_set_free);
    note_backend(set.run);
    nb::dict out = to_dict(&set, set_fields);
    nb::list placed, links;
    for (int i = 0; i < set.count; i++) {
        placed.append(to_dict(&set.clouds[i], set_cloud_fields));
    }
    for (int i = 0; i < set.link_count; i++) {
        links.append(to_dict(&set.links[i], set_link_fields));
    }
    out["clouds"] = placed;
    out["links"] = links;
    return out;
}

nb::dict register_depth(depth_array source, depth_array target, nb::dict source_camera, nb::object target_camera,
                        nb::dict values, const char *device, int threads) {
    pcgpu_register_depth_params params;
    pcgpu_register_depth_params_init(&params);
    fill(&params, register_depth_params_fields, values, "register_depth");
    const pcgpu_depth images[] = {depth_view(source), depth_view(target)};
    const pcgpu_camera first = make_camera(source_camera);
    const pcgpu_camera second = target_camera.is_none() ? first : make_camera(nb::cast<nb::dict>(target_camera));
    std::vector<pcgpu_registration> result(1);
    lease context(make_place(device, threads));
    context.call([&] {
        return pcgpu_register_depth(*context, &images[0], &images[1], &first, &second, &params, result.data());
    });
    return nb::cast<nb::dict>(registered(result)[0]);
}

nb::list devices() {
    pcgpu_device_info info[64];
    int count;
    {
        nb::gil_scoped_release released;
        count = pcgpu_devices(info, 64, nullptr, 0, nullptr);
    }
    if (pcgpu_cuda_architectures()[0]) {
        cuda_was_used();
    }
    nb::list out;
    for (int i = 0; i < count && i < 64; i++) {
        out.append(to_dict(&info[i], device_fields));
    }
    return out;
}

template <class T, auto init> nb::dict defaults_of(const field *fields) {
    T params;
    init(&params, sizeof params);
    return to_dict(&params, fields);
}

/* The defaults of the library. A test compares them with those of the functions in Python. */
nb::dict defaults() {
    nb::dict out;
    out["sample"] = defaults_of<pcgpu_sample_params, pcgpu_sample_params_init_sized>(sample_params_fields);
    out["voxelize"] = defaults_of<pcgpu_voxelize_params, pcgpu_voxelize_params_init_sized>(voxelize_params_fields);
    out["clusters"] = defaults_of<pcgpu_cluster_params, pcgpu_cluster_params_init_sized>(cluster_params_fields);
    out["ground"] = defaults_of<pcgpu_ground_params, pcgpu_ground_params_init_sized>(ground_params_fields);
    out["register"] = defaults_of<pcgpu_register_params, pcgpu_register_params_init_sized>(register_params_fields);
    out["register_depth"] =
        defaults_of<pcgpu_register_depth_params, pcgpu_register_depth_params_init_sized>(register_depth_params_fields);
    out["Odometry"] = defaults_of<pcgpu_odometry_params, pcgpu_odometry_params_init_sized>(odometry_params_fields);
    out["DepthOdometry"] =
        defaults_of<pcgpu_depth_odometry_params, pcgpu_depth_odometry_params_init_sized>(depth_odometry_params_fields);
    out["Map"] = defaults_of<pcgpu_map_params, pcgpu_map_params_init_sized>(map_params_fields);
    out["Loops"] = defaults_of<pcgpu_loops_params, pcgpu_loops_params_init_sized>(loops_params_fields);
    out["DepthLoops"] =
        defaults_of<pcgpu_depth_loops_params, pcgpu_depth_loops_params_init_sized>(depth_loops_params_fields);
    out["Volume"] = defaults_of<pcgpu_volume_params, pcgpu_volume_params_init_sized>(volume_params_fields);
    out["Camera"] = defaults_of<pcgpu_camera, pcgpu_camera_init_sized>(camera_fields);
    return out;
}

} // namespace

void bind_operations(nb::module_ &m) {
    m.def("sample", &sample, nb::arg("clouds"), nb::arg("params"), nb::arg("seeds").none(), nb::arg("device"),
          nb::arg("threads"), "The picks of each cloud.");
    m.def("voxelize", &voxelize, nb::arg("cloud"), nb::arg("params"), nb::arg("device"), nb::arg("threads"),
          "The voxels of a cloud.");
    m.def("register", &register_clouds, nb::arg("pairs"), nb::arg("params"), nb::arg("device"), nb::arg("threads"),
          "The registration of each pair of clouds.");
    m.def("register_device", &register_device, nb::arg("pairs"), nb::arg("params"), nb::arg("device"), nb::arg("threads"),
          nb::arg("stream"), "The registrations of pairs of clouds on a GPU.");
    m.def("register_all", &register_all, nb::arg("clouds"), nb::arg("params"), nb::arg("device"), nb::arg("threads"),
          "The poses of a set of clouds.");
    m.def("register_depth", &register_depth, nb::arg("source"), nb::arg("target"), nb::arg("source_camera"),
          nb::arg("target_camera").none(), nb::arg("params"), nb::arg("device"), nb::arg("threads"),
          "The registration of two depth images.");
    m.def("devices", &devices, "The CUDA devices of this machine.");
    m.def("cuda_architectures", &pcgpu_cuda_architectures, "The GPU architectures of this build.");
    m.def("version", &pcgpu_version, "The version of the library.");
    m.def("defaults", &defaults, "The defaults of the parameters, by function.");
}
