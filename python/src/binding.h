/* What the files of the binding share: exceptions, contexts, structs as dictionaries, arrays. The logic is in the C
 * library and in the Python files of the package. */
#ifndef PCGPU_PYTHON_BINDING_H
#define PCGPU_PYTHON_BINDING_H

#include "fields.h"
#include "pcgpu.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <atomic>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace nb = nanobind;

/* ---- context.cpp ------------------------------------------------------------------------------------------------- */

/* Device and threads of a call. */
struct place {
    pcgpu_device device;
    int index, threads;
};

/* From "auto", "cpu", "cuda" or "cuda:N". */
place make_place(const char *device, int threads);

/* Whether Python's signal handlers run on this thread. */
bool is_main_thread();

/* A context and the lines that it logged since they were last sent to Python's logging. */
struct slot {
    place where;
    pcgpu_context *context = nullptr;
    bool polls = false; /* for signals, in the call of the main thread */
    std::vector<std::pair<pcgpu_log_level, std::string>> lines;
};

/* What a call left behind: its status, the sentence and the lines. Taken before another thread can use the context. */
struct outcome {
    outcome(pcgpu_status status, slot *of);
    void finish(); /* with the GIL: sends the lines, and raises an exception for a failure */
    pcgpu_status status;
    std::string sentence;
    std::vector<std::pair<pcgpu_log_level, std::string>> lines;
};

/* A context for one call, from the pool: a thread gets one that no other thread uses, and calls that follow each other
 * reuse the threads and the memory of one context. */
class lease {
  public:
    explicit lease(const place &where);
    ~lease();
    lease(const lease &) = delete;
    lease &operator=(const lease &) = delete;
    pcgpu_context *operator*() const {
        return mine->context;
    }

    /* Calls f, which returns a status, without the GIL. Raises an exception for a failure. */
    template <class F> void call(F f) {
        pcgpu_status status;
        mine->polls = is_main_thread();
        {
            nb::gil_scoped_release released;
            status = f();
        }
        usable = status != PCGPU_ERROR_DEVICE && status != PCGPU_ERROR_UNAVAILABLE;
        outcome(status, mine).finish();
    }

  private:
    slot *mine;
    bool usable = true;
};

/* A context that belongs to an object, such as an Odometry, which any thread may use, one at a time. */
class owner {
  public:
    owner(const place &where, const char *what);
    ~owner() {
        close([] {});
    }
    owner(const owner &) = delete;
    owner &operator=(const owner &) = delete;
    pcgpu_context *operator*() const {
        return mine->context;
    }

    template <class F> void call(F f) {
        check();
        outcome result = [&] {
            nb::gil_scoped_release released;
            std::lock_guard<std::mutex> one(busy);
            return closed ? outcome(PCGPU_OK, nullptr) : outcome(f(), mine);
        }();
        check(); /* closed? */
        result.finish();
    }
    /* Calls f, which frees what uses the context, and closes the context. Not in a process that fork() made: the
     * threads of the context are not there. */
    template <class F> void close(F f) {
        nb::gil_scoped_release released;
        std::lock_guard<std::mutex> one(busy);
        if (!closed && is_mine()) {
            f();
            pcgpu_close(mine->context);
            delete mine;
        }
        closed = true;
    }

  private:
    void check() const;
    bool is_mine() const;
    slot *mine;
    const char *what;
    unsigned process;
    std::atomic<bool> closed{false};
    std::mutex busy;
};

/* After fork() the device of the parent process cannot be used. */
void cuda_was_used();
/* The same if an operation ran there. */
void note_backend(const pcgpu_run &run);

/* ---- values.cpp -------------------------------------------------------------------------------------------------- */

[[noreturn]] void raise(PyObject *type, const std::string &sentence);

void fill(void *to, const field *fields, nb::dict values, const char *what);
/* As fill; the starts of clouds, which are in values['starts'], live as long as the result. */
std::vector<int64_t> fill_sample(pcgpu_sample_params *params, nb::dict values);
nb::dict to_dict(const void *from, const field *fields);

/* A cloud of the caller: (points, names or None, offset or None), with points a float32 array (N, C) in C order. */
struct cloud_view {
    explicit cloud_view(nb::handle parts);
    ~cloud_view();
    cloud_view(const cloud_view &) = delete;
    nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu> points;
    pcgpu_cloud cloud = {};
};

/* Memory of the caller, which the Python files have checked; None: none. */
template <class T> T *address(nb::handle value) {
    return value.is_none() ? nullptr : reinterpret_cast<T *>(nb::cast<uintptr_t>(value));
}

/* The cloud as a dictionary; takes its memory. */
nb::dict take_cloud(pcgpu_cloud *cloud);
nb::dict copy_cloud(const pcgpu_cloud *cloud);
/* Its columns and these types of them. */
void describe_columns(nb::dict out, const pcgpu_cloud *cloud, const uint8_t *types);

/* Times in seconds, and poses with as many, by the Python layer. */
using time_array = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using pose_array = nb::ndarray<const double, nb::shape<-1, 4, 4>, nb::c_contig, nb::device::cpu>;
using depth_array = nb::ndarray<const uint16_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
pcgpu_depth depth_view(const depth_array &image);
pcgpu_camera make_camera(nb::dict values);
void fill_matrix(double to[16], nb::handle value, const char *name);

/* A NumPy array of memory that `owner` keeps. */
template <class T> nb::object make_array(const T *data, std::initializer_list<size_t> shape, nb::handle owner) {
    static T nothing;
    T *memory = data ? const_cast<T *>(data) : &nothing;
    return nb::cast(nb::ndarray<nb::numpy, T>(memory, shape.size(), shape.begin(), owner));
}

/* A struct of the library in memory of its own, which a capsule frees. */
template <class T, void release(T *)> nb::capsule keep(T *result) {
    return nb::capsule(result, [](void *p) noexcept {
        release(static_cast<T *>(p));
        delete static_cast<T *>(p);
    });
}

/* The parts of the module. */
void bind_device(nb::module_ &m);
void bind_files(nb::module_ &m);
void bind_filters(nb::module_ &m);
void bind_maps(nb::module_ &m);
void bind_operations(nb::module_ &m);
void bind_sequences(nb::module_ &m);

#endif
