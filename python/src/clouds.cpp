/* Clouds, depth images and cameras of the caller, and clouds for the caller. */
#include "binding.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

static void name_columns(pcgpu_cloud *cloud, nb::handle names) {
    static const char *const first[] = {"x", "y", "z", "intensity"};
    for (int k = 0; k < cloud->columns; k++) {
        char *to = cloud->names[k];
        if (!names.is_none()) {
            const std::string name = nb::cast<nb::str>(names[k]).c_str();
            if (name.empty() || name.size() >= PCGPU_NAME_SIZE) {
                raise(PyExc_ValueError, "a column is named '" + name + "'; give 1 to 31 bytes");
            }
            std::memcpy(to, name.c_str(), name.size() + 1);
        } else if (k < 4) {
            std::strcpy(to, first[k]);
        } else {
            std::snprintf(to, PCGPU_NAME_SIZE, "c%d", k);
        }
    }
}

static const char *const type_names[] = {"float32", "float64", "int8",   "uint8",  "int16",
                                         "uint16",  "int32",   "uint32", "float16"};

static int type_by_name(const std::string &name) {
    for (int i = 0; i < PCGPU_FLOAT16; i++) {
        if (name == type_names[i]) {
            return i;
        }
    }
    raise(PyExc_ValueError, "a column has the type '" + name + "'; give 'float32', 'float64', or (u)int8 to (u)int32");
}

/* (points, names, offset, types, first, up) */
cloud_view::cloud_view(nb::handle parts) {
    points = nb::cast<decltype(points)>(parts[0], false);
    if (points.shape(1) < 3 || points.shape(1) > PCGPU_MAX_COLUMNS) {
        raise(PyExc_ValueError,
              "points have " + std::to_string(points.shape(1)) + " columns; give 3 to 64, x y z first");
    }
    cloud.rows = (int64_t)points.shape(0);
    cloud.columns = (int)points.shape(1);
    cloud.data = const_cast<float *>(points.data());
    name_columns(&cloud, parts[1]);
    for (int k = 0; k < 3 && !parts[2].is_none(); k++) {
        cloud.offset[k] = nb::cast<double>(parts[2][k]);
    }
    for (int k = 0; k < cloud.columns && !parts[3].is_none(); k++) {
        cloud.types[k] = (uint8_t)type_by_name(nb::cast<nb::str>(parts[3][k]).c_str());
    }
    for (int k = 3; k < cloud.columns && !parts[4].is_none(); k++) {
        cloud.offset[k] = nb::cast<double>(parts[4][k]);
    }
    if (!parts[5].is_none() && !pcgpu_cloud_set_up(&cloud, nb::cast<nb::str>(parts[5]).c_str())) {
        raise(PyExc_ValueError, "up is another than 'x', 'y', 'z', '-x', '-y' and '-z'");
    }
}

cloud_view::~cloud_view() {
    cloud.data = nullptr; // the caller's
    pcgpu_cloud_free(&cloud);
}

static void free_cloud(pcgpu_cloud *cloud) {
    pcgpu_cloud_free(cloud);
}

void describe_columns(nb::dict out, const pcgpu_cloud *cloud, const uint8_t *types) {
    nb::list names, listed;
    for (int k = 0; k < cloud->columns; k++) {
        names.append(
            nb::steal(PyUnicode_DecodeUTF8(cloud->names[k], (Py_ssize_t)std::strlen(cloud->names[k]), "replace")));
        listed.append(nb::str(type_names[types[k]]));
    }
    out["columns"] = nb::tuple(names);
    out["types"] = nb::tuple(listed);
}

/* With the memory that `owner` keeps. */
static nb::dict describe(const pcgpu_cloud *cloud, nb::handle owner) {
    nb::list first;
    for (int k = 0; k < cloud->columns; k++) {
        first.append(nb::float_(k < 3 ? 0.0 : cloud->offset[k]));
    }
    nb::dict out;
    out["points"] = make_array(cloud->data, {(size_t)cloud->rows, (size_t)cloud->columns}, owner);
    describe_columns(out, cloud, cloud->types);
    out["offset"] = nb::make_tuple(cloud->offset[0], cloud->offset[1], cloud->offset[2]);
    out["first"] = nb::tuple(first);
    out["up"] = pcgpu_cloud_up(cloud) ? nb::object(nb::str(pcgpu_cloud_up(cloud))) : nb::none();
    return out;
}

nb::dict take_cloud(pcgpu_cloud *from) {
    auto *cloud = new pcgpu_cloud(*from);
    *from = {};
    nb::capsule owner = keep<pcgpu_cloud, free_cloud>(cloud);
    return describe(cloud, owner);
}

nb::dict copy_cloud(const pcgpu_cloud *from) {
    const size_t bytes = (size_t)from->rows * (size_t)from->columns * sizeof(float);
    pcgpu_cloud copy = *from;
    copy.data = static_cast<float *>(std::malloc(bytes + 1));
    if (!copy.data) {
        raise(PyExc_MemoryError, "out of memory for " + std::to_string(from->rows) + " points");
    }
    nb::capsule owner(copy.data, [](void *p) noexcept { std::free(p); });
    std::memcpy(copy.data, from->data, bytes);
    return describe(&copy, owner);
}

pcgpu_depth depth_view(const depth_array &image) {
    if (image.shape(0) > PCGPU_DEPTH_SIDE || image.shape(1) > PCGPU_DEPTH_SIDE) {
        raise(PyExc_ValueError, "a depth image has more than 16384 rows or columns");
    }
    return {(int)image.shape(1), (int)image.shape(0), const_cast<uint16_t *>(image.data()), nullptr};
}

pcgpu_camera make_camera(nb::dict values) {
    pcgpu_camera camera;
    pcgpu_camera_init(&camera);
    fill(&camera, camera_fields, values, "a camera");
    return camera;
}
