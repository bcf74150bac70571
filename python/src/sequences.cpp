/* Objects that keep a state: odometry and volumes. */
#include "binding.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <optional>

namespace {

class Odometry {
public:
    Odometry(nb::dict values, nb::dict registration, nb::object map, bool extend, const char *device, int threads)
        : context(make_place(device, threads), "Odometry") {
        pcgpu_odometry_params_init(&params);
        fill(&params, odometry_params_fields, values, "Odometry");
        fill(&params.registration, register_params_fields, registration, "Odometry");
        if (map.is_none()) {
            context.call([&] { return pcgpu_odometry_open(*context, &params, &state); });
        } else {
            cloud_view view(map);
            const auto open = extend ? pcgpu_odometry_open_into : pcgpu_odometry_open_map;
            context.call([&] { return open(*context, &params, &view.cloud, &state); });
        }
    }
    ~Odometry() { close(); }
    void close() {
        context.close([&] { pcgpu_odometry_close(state); });
    }
    nb::dict add(nb::tuple cloud, double time) {
        cloud_view view(cloud);
        pcgpu_odometry_frame frame;
        context.call([&] { return pcgpu_odometry_add(state, &view.cloud, time, &frame); });
        if (std::strcmp(frame.registration.run.backend, "cuda") == 0) {
            cuda_was_used();
        }
        return to_dict(&frame, frame_fields);
    }
    void guess(time_array times, pose_array poses) {
        context.call([&] { return pcgpu_odometry_guess(state, times.data(), poses.data(), (int64_t)times.size()); });
    }
    nb::dict points() {
        const pcgpu_cloud *cloud = nullptr;
        context.call([&] { return pcgpu_odometry_points(state, &cloud); });
        return copy_cloud(cloud);
    }
    nb::dict scan_points(nb::tuple cloud, nb::object before, nb::object motion, double fraction) {
        cloud_view view(cloud);
        std::optional<cloud_view> earlier;
        double T[16];
        pcgpu_run run = {};
        pcgpu_cloud points = {};
        if (!before.is_none()) {
            earlier.emplace(before);
        }
        if (!motion.is_none()) {
            fill_matrix(T, motion, "motion");
        }
        context.call([&] {
            return pcgpu_scan_points(*context, &params, &view.cloud, earlier ? &earlier->cloud : nullptr,
                                     motion.is_none() ? nullptr : T, fraction, &points, &run);
        });
        return take_cloud(&points);
    }

private:
    pcgpu_odometry_params params;
    owner context;
    pcgpu_odometry *state = nullptr;
};

/* ---- volumes ------------------------------------------------------------------------------------------------------ */

pcgpu_volume_params volume_params(nb::dict values) {
    pcgpu_volume_params params;
    pcgpu_volume_params_init(&params);
    fill(&params, volume_params_fields, values, "Volume");
    return params;
}

nb::tuple raycast(owner &context, pcgpu_volume *volume, nb::dict camera, nb::object pose) {
    const pcgpu_camera lens = make_camera(camera);
    double T[16];
    fill_matrix(T, pose, "pose");
    if (lens.width < 1 || lens.height < 1 || lens.width > PCGPU_DEPTH_SIDE || lens.height > PCGPU_DEPTH_SIDE) {
        raise(PyExc_ValueError, "the camera has no image size; give width and height from 1 to 16384");
    }
    const size_t values = (size_t)lens.width * (size_t)lens.height * 3;
    float *memory[2] = {};
    nb::object arrays[2];
    for (int i = 0; i < 2; i++) {
        memory[i] = static_cast<float *>(std::malloc(values * sizeof(float)));
        if (!memory[i]) {
            raise(PyExc_MemoryError, "out of memory for the vertices and normals");
        }
        nb::capsule keeper(memory[i], [](void *p) noexcept { std::free(p); });
        arrays[i] = make_array(memory[i], {(size_t)lens.height, (size_t)lens.width, 3}, keeper);
    }
    context.call([&] { return pcgpu_volume_raycast(volume, &lens, T, memory[0], memory[1]); });
    return nb::make_tuple(arrays[0], arrays[1]);
}

nb::dict surface(owner &context, pcgpu_volume *volume, double min_weight) {
    pcgpu_cloud cloud = {};
    context.call([&] { return pcgpu_volume_surface(volume, min_weight, &cloud); });
    return take_cloud(&cloud);
}

nb::tuple mesh(owner &context, pcgpu_volume *volume, double min_weight) {
    pcgpu_mesh mesh = {};
    context.call([&] { return pcgpu_volume_mesh(volume, min_weight, &mesh); });
    nb::capsule keeper(mesh.indices ? mesh.indices : (int32_t *)std::malloc(1), [](void *p) noexcept { std::free(p); });
    nb::object triangles = make_array(mesh.indices, {(size_t)mesh.triangles, 3}, keeper);
    nb::dict vertices = take_cloud(&mesh.vertices);
    return nb::make_tuple(vertices, triangles);
}

nb::dict stats(owner &context, pcgpu_volume *volume) {
    pcgpu_volume_stats s = {};
    context.call([&] { return pcgpu_volume_get_stats(volume, &s), PCGPU_OK; });
    return to_dict(&s, volume_stats_fields);
}

class Volume {
public:
    Volume(nb::dict values, const char *device, int threads) : context(make_place(device, threads), "Volume") {
        const pcgpu_volume_params params = volume_params(values);
        context.call([&] { return pcgpu_volume_open(*context, &params, &state); });
        if (std::strcmp(backend().c_str(), "cuda") == 0) {
            cuda_was_used();
        }
    }
    ~Volume() { close(); }
    void close() {
        context.close([&] { pcgpu_volume_close(state); });
    }
    nb::dict integrate(depth_array image, nb::dict camera, nb::object pose) {
        const pcgpu_depth depth = depth_view(image);
        const pcgpu_camera lens = make_camera(camera);
        double T[16];
        pcgpu_volume_counts counts;
        fill_matrix(T, pose, "pose");
        context.call([&] { return pcgpu_volume_integrate(state, &depth, &lens, T, &counts); });
        return to_dict(&counts, volume_counts_fields);
    }
    nb::tuple raycast(nb::dict camera, nb::object pose) { return ::raycast(context, state, camera, pose); }
    nb::dict surface(double min_weight) { return ::surface(context, state, min_weight); }
    nb::tuple mesh(double min_weight) { return ::mesh(context, state, min_weight); }
    nb::dict stats() { return ::stats(context, state); }

private:
    std::string backend() {
        pcgpu_volume_stats s = {};
        pcgpu_volume_get_stats(state, &s);
        return s.run.backend;
    }
    owner context;
    pcgpu_volume *state = nullptr;
};

/* ---- odometry of a depth camera ----------------------------------------------------------------------------------- */

class DepthOdometry {
public:
    DepthOdometry(nb::dict camera, nb::dict values, nb::dict registration, nb::dict volume, const char *device, int threads)
        : context(make_place(device, threads), "DepthOdometry") {
        const pcgpu_camera lens = make_camera(camera);
        pcgpu_depth_odometry_params params;
        pcgpu_depth_odometry_params_init(&params);
        fill(&params, depth_odometry_params_fields, values, "DepthOdometry");
        fill(&params.registration, register_depth_params_fields, registration, "DepthOdometry");
        params.volume = volume_params(volume);
        context.call([&] { return pcgpu_depth_odometry_open(*context, &lens, &params, &state); });
    }
    ~DepthOdometry() { close(); }
    void close() {
        context.close([&] { pcgpu_depth_odometry_close(state); });
    }
    nb::dict add(depth_array image, double time) {
        const pcgpu_depth depth = depth_view(image);
        pcgpu_odometry_frame frame;
        context.call([&] { return pcgpu_depth_odometry_add(state, &depth, time, &frame); });
        if (std::strcmp(frame.registration.run.backend, "cuda") == 0) {
            cuda_was_used();
        }
        return to_dict(&frame, frame_fields);
    }
    void guess(time_array times, pose_array poses) {
        context.call([&] { return pcgpu_depth_odometry_guess(state, times.data(), poses.data(), (int64_t)times.size()); });
    }
    nb::tuple raycast(nb::dict camera, nb::object pose) { return ::raycast(context, model(), camera, pose); }
    nb::dict surface(double min_weight) { return ::surface(context, model(), min_weight); }
    nb::tuple mesh(double min_weight) { return ::mesh(context, model(), min_weight); }
    nb::dict stats() { return ::stats(context, model()); }

private:
    pcgpu_volume *model() {
        pcgpu_volume *volume = nullptr;
        context.call([&] { return volume = pcgpu_depth_odometry_volume(state), PCGPU_OK; });
        if (!volume) {
            raise(PyExc_ValueError, "there is no volume with this reference; give reference='model'");
        }
        return volume;
    }
    owner context;
    pcgpu_depth_odometry *state = nullptr;
};

} // namespace

void bind_sequences(nb::module_ &m) {
    nb::class_<Odometry>(m, "Odometry")
        .def(nb::init<nb::dict, nb::dict, nb::object, bool, const char *, int>(), nb::arg("params"),
             nb::arg("registration"), nb::arg("map").none(), nb::arg("extend"), nb::arg("device"), nb::arg("threads"))
        .def("add", &Odometry::add, nb::arg("cloud"), nb::arg("time"))
        .def("guess", &Odometry::guess, nb::arg("times"), nb::arg("poses"))
        .def("points", &Odometry::points)
        .def("scan_points", &Odometry::scan_points, nb::arg("cloud"), nb::arg("before").none(), nb::arg("motion").none(),
             nb::arg("fraction"))
        .def("close", &Odometry::close);
    nb::class_<Volume>(m, "Volume")
        .def(nb::init<nb::dict, const char *, int>(), nb::arg("params"), nb::arg("device"), nb::arg("threads"))
        .def("integrate", &Volume::integrate, nb::arg("image"), nb::arg("camera"), nb::arg("pose"))
        .def("raycast", &Volume::raycast, nb::arg("camera"), nb::arg("pose"))
        .def("surface", &Volume::surface, nb::arg("min_weight"))
        .def("mesh", &Volume::mesh, nb::arg("min_weight"))
        .def("stats", &Volume::stats)
        .def("close", &Volume::close);
    nb::class_<DepthOdometry>(m, "DepthOdometry")
        .def(nb::init<nb::dict, nb::dict, nb::dict, nb::dict, const char *, int>(), nb::arg("camera"), nb::arg("params"),
             nb::arg("registration"), nb::arg("volume"), nb::arg("device"), nb::arg("threads"))
        .def("add", &DepthOdometry::add, nb::arg("image"), nb::arg("time"))
        .def("guess", &DepthOdometry::guess, nb::arg("times"), nb::arg("poses"))
        .def("raycast", &DepthOdometry::raycast, nb::arg("camera"), nb::arg("pose"))
        .def("surface", &DepthOdometry::surface, nb::arg("min_weight"))
        .def("mesh", &DepthOdometry::mesh, nb::arg("min_weight"))
        .def("stats", &DepthOdometry::stats)
        .def("close", &DepthOdometry::close);
}
