/* Contexts for calls from Python: a pool, logging, exceptions, fork(). */
#include "binding.h"

#include <cstring>
#include <pthread.h>

namespace {

/* Contexts that no call uses. After fork() the child begins with an empty pool: the threads of the parent's contexts
 * are not there, and another thread may have held the mutex. The old pool is left as it is. */
struct pool {
    std::mutex mutex;
    std::vector<slot *> idle;
};

constexpr size_t MOST_IDLE = 32;
pool *current = nullptr;
pthread_t main_thread;   /* in which Python runs the handlers of signals */
unsigned generation = 0; /* forks since the first process */
std::atomic<bool> cuda_used{false};
bool cuda_lost = false; /* the process was forked from one that had used CUDA */

void after_fork() {
    current = new pool;
    generation++;
    main_thread = pthread_self();
    cuda_lost = cuda_lost || cuda_used;
}

void find_main_thread() {
    nb::gil_scoped_acquire acquired;
    const auto id = nb::module_::import_("threading").attr("main_thread")().attr("ident");
    main_thread = (pthread_t)nb::cast<unsigned long>(id);
}

pool &the_pool() {
    static const int once = (current = new pool, find_main_thread(), pthread_atfork(nullptr, nullptr, after_fork));
    (void)once;
    return *current;
}

void log_line(void *user, pcgpu_log_level level, const char *message) {
    auto &lines = static_cast<slot *>(user)->lines;
    if (lines.size() < 100) {
        lines.emplace_back(level, message);
    }
}

PyObject *exception_of(pcgpu_status status) {
    switch (status) {
    case PCGPU_ERROR_ARGUMENT:
    case PCGPU_ERROR_FORMAT: return PyExc_ValueError;
    case PCGPU_ERROR_MEMORY: return PyExc_MemoryError;
    case PCGPU_ERROR_IO: return PyExc_OSError;
    default: return PyExc_RuntimeError;
    }
}

/* Runs the handlers of signals: Ctrl-C sets an exception, which ends the call. */
bool has_interrupt(void *user) {
    if (!static_cast<slot *>(user)->polls) {
        return false;
    }
    nb::gil_scoped_acquire acquired;
    return PyErr_Occurred() || PyErr_CheckSignals() != 0;
}

/* Opens without the GIL: CUDA starts in here. */
slot *open_slot(place where, bool polls) {
    if (cuda_lost && where.device == PCGPU_DEVICE_CUDA) {
        raise(PyExc_RuntimeError, "CUDA was used before this process was forked, and cannot be used in it; start "
                                  "processes by 'spawn', or give device='cpu'");
    }
    auto *s = new slot;
    s->where = where;
    pcgpu_settings settings;
    pcgpu_settings_init(&settings);
    settings.device = cuda_lost ? PCGPU_DEVICE_CPU : where.device;
    settings.cuda_index = where.index;
    settings.threads = where.threads;
    settings.log = log_line;
    settings.log_user = s;
    settings.names = PCGPU_NAMES_PYTHON;
    settings.poll = polls ? has_interrupt : nullptr;
    settings.poll_user = s;
    pcgpu_status status;
    {
        nb::gil_scoped_release released;
        status = pcgpu_open(&settings, &s->context);
    }
    if (status != PCGPU_OK) {
        const std::string sentence = pcgpu_last_error(s->context);
        pcgpu_close(s->context);
        delete s;
        raise(exception_of(status), sentence);
    }
    if (where.device == PCGPU_DEVICE_CUDA) {
        cuda_was_used();
    }
    return s;
}

slot *take_idle(const place &where) {
    pool &p = the_pool();
    std::lock_guard<std::mutex> one(p.mutex);
    for (size_t i = p.idle.size(); i-- > 0;) {
        const place &its = p.idle[i]->where;
        if (its.device == where.device && its.index == where.index && its.threads == where.threads) {
            slot *s = p.idle[i];
            p.idle.erase(p.idle.begin() + (ptrdiff_t)i);
            return s;
        }
    }
    return nullptr;
}

/* Returns the slot that has been idle for the longest time when there are too many. */
slot *give_back(slot *s) {
    pool &p = the_pool();
    std::lock_guard<std::mutex> one(p.mutex);
    p.idle.push_back(s);
    if (p.idle.size() <= MOST_IDLE) {
        return nullptr;
    }
    slot *oldest = p.idle.front();
    p.idle.erase(p.idle.begin());
    return oldest;
}

} // namespace

void cuda_was_used() {
    cuda_used = true;
}

void note_backend(const pcgpu_run &run) {
    cuda_used = cuda_used || std::strcmp(run.backend, "cuda") == 0;
}

void raise(PyObject *type, const std::string &sentence) {
    nb::object text = nb::steal(PyUnicode_DecodeUTF8(sentence.c_str(), (Py_ssize_t)sentence.size(), "replace"));
    PyErr_SetObject(type, text.ptr());
    throw nb::python_error();
}

bool is_main_thread() {
    return pthread_equal(pthread_self(), main_thread) != 0;
}

place make_place(const char *device, int threads) {
    place where = {PCGPU_DEVICE_AUTO, 0, threads};
    if (std::strcmp(device, "cpu") == 0) {
        where.device = PCGPU_DEVICE_CPU;
    } else if (std::strncmp(device, "cuda", 4) == 0 && (device[4] == '\0' || device[4] == ':')) {
        char *end = nullptr;
        const long index = device[4] ? std::strtol(device + 5, &end, 10) : 0;
        where.device = PCGPU_DEVICE_CUDA;
        where.index = (int)index;
        if (device[4] && (end == device + 5 || *end || index < 0 || index > 1023)) {
            raise(PyExc_ValueError, std::string("device is '") + device + "'; give 'cuda:0', 'cuda:1', ...");
        }
    } else if (std::strcmp(device, "auto") != 0) {
        raise(PyExc_ValueError, std::string("device is '") + device + "'; give 'auto', 'cpu', 'cuda' or 'cuda:N'");
    }
    return where;
}

/* ---- what a call left behind -------------------------------------------------------------------------------------- */

outcome::outcome(pcgpu_status status, slot *of) : status(status) {
    if (of) {
        lines.swap(of->lines);
    }
    if (status != PCGPU_OK) {
        sentence = pcgpu_last_error(of->context);
    }
}

void outcome::finish() {
    if (status == PCGPU_ERROR_CANCELLED) {
        throw nb::python_error(); /* of the handler of a signal */
    }
    if (!lines.empty()) {
        nb::object logger = nb::module_::import_("logging").attr("getLogger")("pcgpu");
        for (auto &[level, text] : lines) {
            nb::object line = nb::steal(PyUnicode_DecodeUTF8(text.c_str(), (Py_ssize_t)text.size(), "replace"));
            logger.attr(level == PCGPU_LOG_WARNING ? "warning" : "info")("%s", line);
        }
    }
    if (status != PCGPU_OK) {
        raise(exception_of(status), sentence);
    }
}

/* ---- one call ---------------------------------------------------------------------------------------------------- */

lease::lease(const place &where) : mine(take_idle(where)) {
    if (!mine) {
        mine = open_slot(where, true);
    }
}

lease::~lease() {
    slot *extra = usable ? give_back(mine) : mine;
    if (extra) {
        nb::gil_scoped_release released;
        pcgpu_close(extra->context);
        delete extra;
    }
}

/* ---- an object --------------------------------------------------------------------------------------------------- */

owner::owner(const place &where, const char *what) : mine(open_slot(where, false)), what(what) {
    the_pool(); /* which watches fork() */
    process = generation;
}

bool owner::is_mine() const {
    return process == generation;
}

void owner::check() const {
    if (!is_mine()) {
        raise(PyExc_RuntimeError,
              std::string("this ") + what + " belongs to the process that made it; make another one after the fork");
    }
    if (closed) {
        raise(PyExc_ValueError, std::string("this ") + what + " is closed");
    }
}
