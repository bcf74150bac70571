/* pcgpu._native: the C library for the Python files of the package. */
#include "binding.h"

NB_MODULE(_native, m) {
    m.doc() = "The C library of pcgpu; use the functions of pcgpu.";
    nb::set_leak_warnings(false); /* a program may end while an object exists */
    bind_device(m);
    bind_files(m);
    bind_filters(m);
    bind_maps(m);
    bind_operations(m);
    bind_sequences(m);
}
