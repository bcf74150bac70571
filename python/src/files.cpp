/* Reading and writing. Python opens the files, so that its own exceptions say why one cannot be opened. */
#include "binding.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace {

/* A stream of its own for a descriptor of Python's, or over bytes. */
class stream {
public:
    stream(nb::handle source, const char *mode) {
        if (nb::isinstance<nb::bytes>(source)) {
            nb::bytes text = nb::borrow<nb::bytes>(source);
            file = text.size() ? fmemopen(const_cast<char *>(text.c_str()), text.size(), mode) : fopen("/dev/null", mode);
        } else {
            const int descriptor = dup(nb::cast<int>(source));
            file = descriptor < 0 ? nullptr : fdopen(descriptor, mode);
            if (!file && descriptor >= 0) {
                ::close(descriptor);
            }
        }
        if (!file) {
            PyErr_SetFromErrno(PyExc_OSError);
            throw nb::python_error();
        }
    }
    ~stream() {
        if (file) {
            fclose(file);
        }
    }
    stream(const stream &) = delete;
    stream &operator=(const stream &) = delete;
    FILE *operator*() const { return file; }

    /* A full disk shows here at the latest. */
    void close() {
        errno = 0;
        const bool failed = ferror(file) || fflush(file) != 0;
        const bool lost = fclose(file) != 0;
        file = nullptr;
        if (failed || lost) {
            errno = errno ? errno : EIO;
            PyErr_SetFromErrno(PyExc_OSError);
            throw nb::python_error();
        }
    }

private:
    FILE *file;
};

nb::dict read_cloud(nb::object source, nb::bytes name, nb::object format, int fields, nb::object camera, int threads) {
    lease context({PCGPU_DEVICE_CPU, 0, threads});
    stream file(source, "rb");
    pcgpu_camera lens;
    pcgpu_depth_counts counts = {};
    const pcgpu_format_info *found = nullptr;
    pcgpu_cloud cloud = {};
    nb::str chosen = format.is_none() ? nb::str("") : nb::cast<nb::str>(format);
    pcgpu_read_options options;
    pcgpu_read_options_init(&options);
    options.format = format.is_none() ? nullptr : chosen.c_str();
    options.fields = fields;
    options.depth_counts = &counts;
    options.found = &found;
    if (!camera.is_none()) {
        lens = make_camera(nb::cast<nb::dict>(camera));
        options.camera = &lens;
    }
    context.call([&] { return pcgpu_read(*context, *file, name.c_str(), &options, &cloud); });
    nb::dict out = take_cloud(&cloud);
    out["format"] = nb::str(found ? found->name : "");
    return out;
}

void free_depth(pcgpu_depth *depth) {
    pcgpu_depth_free(depth);
}

nb::object read_depth(nb::object source, nb::bytes name, nb::object format) {
    lease context({PCGPU_DEVICE_CPU, 0, 1});
    stream file(source, "rb");
    pcgpu_depth read = {};
    nb::str chosen = format.is_none() ? nb::str("") : nb::cast<nb::str>(format);
    context.call([&] {
        return pcgpu_read_depth(*context, *file, name.c_str(), format.is_none() ? nullptr : chosen.c_str(), &read);
    });
    auto *depth = new pcgpu_depth(read);
    return make_array(depth->data, {(size_t)depth->height, (size_t)depth->width}, keep<pcgpu_depth, free_depth>(depth));
}

nb::dict depth_to_cloud(depth_array image, nb::dict camera, int threads) {
    lease context({PCGPU_DEVICE_CPU, 0, threads});
    const pcgpu_depth depth = depth_view(image);
    const pcgpu_camera lens = make_camera(camera);
    pcgpu_cloud cloud = {};
    context.call([&] { return pcgpu_depth_to_cloud(*context, &depth, &lens, &cloud, nullptr); });
    return take_cloud(&cloud);
}

void write_cloud(int descriptor, nb::bytes name, nb::object format, nb::tuple parts) {
    lease context({PCGPU_DEVICE_CPU, 0, 0});
    cloud_view view(parts);
    stream file(nb::int_(descriptor), "wb");
    nb::str chosen = format.is_none() ? nb::str("") : nb::cast<nb::str>(format);
    context.call([&] {
        return pcgpu_write(*context, *file, name.c_str(), format.is_none() ? nullptr : chosen.c_str(), &view.cloud);
    });
    file.close();
}

using triangle_array = nb::ndarray<const int32_t, nb::shape<-1, 3>, nb::c_contig, nb::device::cpu>;

void write_mesh(int descriptor, nb::bytes name, nb::tuple parts, triangle_array triangles) {
    lease context({PCGPU_DEVICE_CPU, 0, 0});
    cloud_view view(parts);
    stream file(nb::int_(descriptor), "wb");
    const pcgpu_mesh mesh = {view.cloud, (int64_t)triangles.shape(0), const_cast<int32_t *>(triangles.data())};
    for (size_t i = 0; i < triangles.size(); i++) {
        if (triangles.data()[i] < 0 || triangles.data()[i] >= view.cloud.rows) {
            raise(PyExc_ValueError, "a triangle has the vertex " + std::to_string(triangles.data()[i]) + " of " +
                                        std::to_string(view.cloud.rows));
        }
    }
    context.call([&] { return pcgpu_write_mesh(*context, *file, name.c_str(), &mesh); });
    file.close();
}

nb::dict transform(nb::tuple parts, nb::object matrix) {
    lease context({PCGPU_DEVICE_CPU, 0, 0});
    cloud_view view(parts);
    double T[16];
    char why[160];
    fill_matrix(T, matrix, "transform");
    if (!pcgpu_is_rigid(T, why, sizeof why)) {
        raise(PyExc_ValueError, std::string("transform: ") + why);
    }
    pcgpu_cloud out = {};
    context.call([&] { return pcgpu_cloud_transform(*context, &view.cloud, T, nullptr, &out); });
    return take_cloud(&out);
}

nb::list formats() {
    nb::list out;
    const pcgpu_format_info *f;
    for (int i = 0; (f = pcgpu_format_at(i)); i++) {
        out.append(nb::make_tuple(f->name, f->extension, f->reads, f->writes, f->depth));
    }
    return out;
}

} // namespace

void bind_files(nb::module_ &m) {
    m.def("read", &read_cloud, nb::arg("source"), nb::arg("name"), nb::arg("format").none(), nb::arg("fields"),
          nb::arg("camera").none(), nb::arg("threads"), "A cloud from a file descriptor or bytes.");
    m.def("read_depth", &read_depth, nb::arg("source"), nb::arg("name"), nb::arg("format").none(),
          "A depth image from a file descriptor or bytes.");
    m.def("depth_to_cloud", &depth_to_cloud, nb::arg("image"), nb::arg("camera"), nb::arg("threads"),
          "The points of a depth image.");
    m.def("write", &write_cloud, nb::arg("descriptor"), nb::arg("name"), nb::arg("format").none(), nb::arg("cloud"),
          "Writes a cloud to a file descriptor.");
    m.def("write_mesh", &write_mesh, nb::arg("descriptor"), nb::arg("name"), nb::arg("vertices"), nb::arg("triangles"),
          "Writes a mesh to a file descriptor.");
    m.def("transform", &transform, nb::arg("cloud"), nb::arg("matrix"), "The cloud moved by a rigid transform.");
    m.def("formats", &formats, "(name, extension, reads, writes, depth) of each format.");
}
