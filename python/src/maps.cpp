/* Objects that a sequence's scans and poses are added to: maps and loops. */
#include "binding.h"

#include <cstring>
#include <optional>

namespace {

class Map {
public:
    Map(nb::dict values, nb::object into, const char *folder, const char *device, int threads)
        : context(make_place(device, threads), "Map"), folder(folder) {
        pcgpu_map_params params;
        pcgpu_map_params_init(&params);
        fill(&params, map_params_fields, values, "Map");
        params.folder = params.memory ? this->folder.c_str() : nullptr;
        context.call([&] { return pcgpu_map_open(*context, &params, &state); });
        if (!into.is_none()) {
            existing.emplace(into);
            context.call([&] { return pcgpu_map_into(state, &existing->cloud); });
        }
    }
    ~Map() { close(); }
    void close() {
        context.close([&] { pcgpu_map_close(state); });
    }
    void add(nb::tuple cloud, nb::object pose) {
        cloud_view view(cloud);
        double T[16];
        fill_matrix(T, pose, "pose");
        context.call([&] { return pcgpu_map_add(state, &view.cloud, T); });
    }
    nb::dict finish() {
        const pcgpu_cloud *points = nullptr;
        context.call([&] { return pcgpu_map_finish(state, &points); });
        return copy_cloud(points);
    }
    nb::dict changes() {
        const pcgpu_cloud *points = nullptr;
        context.call([&] { return pcgpu_map_changes(state, &points); });
        return copy_cloud(points);
    }
    nb::dict stats() {
        pcgpu_map_stats s = {};
        context.call([&] { return pcgpu_map_get_stats(state, &s), PCGPU_OK; });
        return to_dict(&s, map_stats_fields);
    }

private:
    owner context;
    std::string folder;
    std::optional<cloud_view> existing;
    pcgpu_map *state = nullptr;
};

/* What loops of scans and of depth images share. */
class AnyLoops {
public:
    void close() {
        context.close([&] { pcgpu_loops_close(state); });
    }
    nb::dict solve() {
        pcgpu_loops_result r = {};
        context.call([&] { return pcgpu_loops_solve(state, &r); });
        nb::dict out = to_dict(&r, loops_result_fields);
        nb::list loops;
        for (int64_t i = 0; i < r.count; i++) {
            loops.append(to_dict(&r.loops[i], loop_fields));
        }
        out["loops"] = loops;
        out["ids"] = copy(r.ids, {(size_t)r.frames});
        out["poses"] = copy(r.poses, {(size_t)r.frames, 4, 4});
        return out;
    }

protected:
    AnyLoops(const char *device, int threads, const char *what) : context(make_place(device, threads), what) {}
    ~AnyLoops() { close(); }
    owner context;
    pcgpu_loops *state = nullptr;

private:
    /* The result's arrays belong to the loops. */
    template <class T> static nb::object copy(const T *from, std::initializer_list<size_t> shape) {
        size_t count = 1;
        for (size_t side : shape) {
            count *= side;
        }
        T *to = new T[count + 1];
        nb::capsule keeper(to, [](void *p) noexcept { delete[] static_cast<T *>(p); });
        std::memcpy(to, from, count * sizeof(T));
        return make_array(to, shape, keeper);
    }
};

class Loops : public AnyLoops {
public:
    Loops(nb::dict values, const char *device, int threads) : AnyLoops(device, threads, "Loops") {
        pcgpu_loops_params params;
        pcgpu_loops_params_init(&params);
        fill(&params, loops_params_fields, values, "Loops");
        context.call([&] { return pcgpu_loops_open(*context, &params, &state); });
    }
    void add(nb::tuple cloud, int64_t id, nb::object pose) {
        cloud_view view(cloud);
        double T[16];
        fill_matrix(T, pose, "pose");
        context.call([&] { return pcgpu_loops_add(state, &view.cloud, id, T); });
    }
};

class DepthLoops : public AnyLoops {
public:
    DepthLoops(nb::dict camera, nb::dict values, const char *device, int threads)
        : AnyLoops(device, threads, "DepthLoops") {
        const pcgpu_camera lens = make_camera(camera);
        pcgpu_depth_loops_params params;
        pcgpu_depth_loops_params_init(&params);
        fill(&params, depth_loops_params_fields, values, "DepthLoops");
        context.call([&] { return pcgpu_loops_open_depth(*context, &lens, &params, &state); });
        /* "auto" may have started CUDA, and no result says so. */
        if (std::strcmp(device, "auto") == 0 && pcgpu_cuda_architectures()[0]) {
            cuda_was_used();
        }
    }
    void add(depth_array image, int64_t id, nb::object pose) {
        const pcgpu_depth depth = depth_view(image);
        double T[16];
        fill_matrix(T, pose, "pose");
        context.call([&] { return pcgpu_loops_add_depth(state, &depth, id, T); });
    }
};

} // namespace

void bind_maps(nb::module_ &m) {
    nb::class_<Map>(m, "Map")
        .def(nb::init<nb::dict, nb::object, const char *, const char *, int>(), nb::arg("params"), nb::arg("into").none(),
             nb::arg("folder"), nb::arg("device"), nb::arg("threads"))
        .def("add", &Map::add, nb::arg("cloud"), nb::arg("pose"))
        .def("finish", &Map::finish)
        .def("changes", &Map::changes)
        .def("stats", &Map::stats)
        .def("close", &Map::close);
    nb::class_<Loops>(m, "Loops")
        .def(nb::init<nb::dict, const char *, int>(), nb::arg("params"), nb::arg("device"), nb::arg("threads"))
        .def("add", &Loops::add, nb::arg("cloud"), nb::arg("id"), nb::arg("pose"))
        .def("solve", &Loops::solve)
        .def("close", &Loops::close);
    nb::class_<DepthLoops>(m, "DepthLoops")
        .def(nb::init<nb::dict, nb::dict, const char *, int>(), nb::arg("camera"), nb::arg("params"), nb::arg("device"),
             nb::arg("threads"))
        .def("add", &DepthLoops::add, nb::arg("image"), nb::arg("id"), nb::arg("pose"))
        .def("solve", &DepthLoops::solve)
        .def("close", &DepthLoops::close);
}
