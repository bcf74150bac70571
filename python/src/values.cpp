/* Structs from and to dictionaries, by the tables of fields.c. */
#include "binding.h"

#include <cmath>
#include <cstdlib>
#include <cstring>

namespace {

std::string text_of(nb::handle value) {
    return nb::repr(value).c_str();
}

std::string choices_of(const char *const *choices) {
    std::string list;
    for (int i = 0; choices[i]; i++) {
        list += (i == 0 ? "'" : choices[i + 1] ? "', '" : "' or '") + std::string(choices[i]);
    }
    return list + "'";
}

[[noreturn]] void refuse(const char *name, nb::handle value, const std::string &remedy, bool type = false) {
    raise(type ? PyExc_TypeError : PyExc_ValueError, std::string(name) + " is " + text_of(value) + "; give " + remedy);
}

/* Numbers of NumPy and tensors of one element are welcome; True and texts are no numbers. */
double real(nb::handle value, const char *name, const char *remedy = "a number") {
    const double number = nb::isinstance<nb::bool_>(value) ? -1.0 : PyFloat_AsDouble(value.ptr());
    if (nb::isinstance<nb::bool_>(value) || (number == -1.0 && PyErr_Occurred())) {
        PyErr_Clear();
        refuse(name, value, remedy, true);
    }
    return number;
}

nb::object whole(nb::handle value, const char *name) {
    nb::object number;
    if (!nb::isinstance<nb::bool_>(value)) {
        number = nb::steal(PyNumber_Index(value.ptr()));
    }
    if (!number.is_valid()) {
        PyErr_Clear();
        refuse(name, value, "a whole number", true);
    }
    return number;
}

long long integer(nb::handle value, const char *name, long long low, long long high) {
    const long long number = PyLong_AsLongLong(whole(value, name).ptr());
    const bool beyond = number == -1 && PyErr_Occurred();
    if (beyond || number < low || number > high) {
        PyErr_Clear();
        refuse(name, value, "a number from " + std::to_string(low) + " to " + std::to_string(high));
    }
    return number;
}

unsigned long long natural(nb::handle value, const char *name) {
    const unsigned long long number = PyLong_AsUnsignedLongLong(whole(value, name).ptr());
    if (PyErr_Occurred()) {
        PyErr_Clear();
        refuse(name, value, "a number from 0 to 2**64 - 1");
    }
    return number;
}

int choice(nb::handle value, const field *f) {
    if (nb::isinstance<nb::str>(value)) {
        const std::string text = nb::str(value).c_str();
        for (int i = 0; f->choices[i]; i++) {
            if (text == f->choices[i]) {
                return i;
            }
        }
    }
    refuse(f->name, value, choices_of(f->choices));
}

double length_or_auto(nb::handle value, const field *f) {
    if (nb::isinstance<nb::str>(value)) {
        return choice(value, f), PCGPU_AUTO;
    }
    const double number = real(value, f->name, "a number or 'auto'");
    if (number < 0.0) {
        refuse(f->name, value, "a number from 0, or 'auto'");
    }
    return number;
}

int elements(const field *f) {
    return f->rows * (f->columns ? f->columns : 1);
}

/* A sequence of numbers; ints may be fewer than the field holds. */
void fill_list(char *to, const field *f, nb::handle value) {
    nb::object list = nb::steal(PySequence_List(value.ptr()));
    const Py_ssize_t given = list.is_valid() ? PyList_Size(list.ptr()) : -1;
    if (given < 0 || given > elements(f) || (f->type == FIELD_DOUBLES && given != elements(f))) {
        PyErr_Clear();
        refuse(f->name, value, std::to_string(elements(f)) + " numbers");
    }
    for (Py_ssize_t i = 0; i < given; i++) {
        nb::object item = nb::steal(PySequence_GetItem(list.ptr(), i));
        if (f->type == FIELD_INTS) {
            ((int *)to)[i] = (int)integer(item, f->name, INT32_MIN, INT32_MAX);
        } else {
            ((double *)to)[i] = real(item, f->name);
        }
    }
}

void fill_field(char *to, const field *f, nb::handle value) {
    switch (f->type) {
    case FIELD_BOOL: {
        const int truth = PyObject_IsTrue(value.ptr());
        if (truth < 0) {
            PyErr_Clear();
            refuse(f->name, value, "True or False", true);
        }
        *(bool *)to = truth != 0;
        break;
    }
    case FIELD_INT: *(int *)to = (int)integer(value, f->name, INT32_MIN, INT32_MAX); break;
    case FIELD_INT64: *(int64_t *)to = integer(value, f->name, INT64_MIN, INT64_MAX); break;
    case FIELD_UINT64: *(uint64_t *)to = natural(value, f->name); break;
    case FIELD_FLOAT: *(float *)to = (float)real(value, f->name); break;
    case FIELD_DOUBLE: *(double *)to = f->choices ? length_or_auto(value, f) : real(value, f->name); break;
    case FIELD_CHOICE: *(int *)to = choice(value, f); break;
    case FIELD_INTS:
    case FIELD_DOUBLES: fill_list(to, f, value); break;
    default: raise(PyExc_TypeError, std::string(f->name) + " is a result"); break;
    }
}

nb::object stages(const pcgpu_run *run) {
    nb::dict out;
    for (int i = 0; i < run->stages; i++) {
        out[run->stage[i].name] = run->stage[i].seconds;
    }
    return out;
}

/* A copy as a NumPy array. */
template <class T> nb::object copy_array(const T *from, const field *f) {
    const size_t count = (size_t)elements(f);
    T *memory = new T[count];
    std::memcpy(memory, from, count * sizeof *memory);
    nb::capsule owner(memory, [](void *p) noexcept { delete[] static_cast<T *>(p); });
    return f->columns ? make_array(memory, {(size_t)f->rows, (size_t)f->columns}, owner)
                      : make_array(memory, {count}, owner);
}

nb::object field_to_object(const char *from, const field *f) {
    switch (f->type) {
    case FIELD_BOOL: return nb::bool_(*(const bool *)from);
    case FIELD_INT: return nb::int_(*(const int *)from);
    case FIELD_INT64: return nb::int_(*(const int64_t *)from);
    case FIELD_UINT64: return nb::int_(*(const uint64_t *)from);
    case FIELD_FLOAT: return nb::float_((double)*(const float *)from);
    case FIELD_DOUBLE:
        return f->choices && *(const double *)from == PCGPU_AUTO ? nb::object(nb::str("auto"))
                                                                : nb::object(nb::float_(*(const double *)from));
    case FIELD_CHOICE: return nb::str(f->choices[*(const int *)from]);
    case FIELD_TEXT: return nb::steal(PyUnicode_DecodeUTF8(from, (Py_ssize_t)std::strlen(from), "replace"));
    case FIELD_INTS: return copy_array((const int *)from, f);
    case FIELD_DOUBLES: return copy_array((const double *)from, f);
    case FIELD_STAGES: return stages((const pcgpu_run *)(from - offsetof(pcgpu_run, stage)));
    case FIELD_STRUCT: return to_dict(from, f->fields);
    }
    return nb::none();
}

} // namespace

void fill(void *to, const field *fields, nb::dict values, const char *what) {
    for (auto [key, value] : values) {
        const char *name = PyUnicode_AsUTF8AndSize(key.ptr(), nullptr);
        if (!name) {
            throw nb::python_error();
        }
        const field *f = fields;
        while (f->name && std::strcmp(f->name, name) != 0) {
            f++;
        }
        if (!f->name) {
            std::string list;
            for (f = fields; f->name; f++) {
                list += (f == fields ? "" : ", ") + std::string(f->name);
            }
            raise(PyExc_TypeError, std::string(what) + " has no parameter '" + name + "'; it has " + list);
        }
        fill_field((char *)to + f->offset, f, value);
    }
}

std::vector<int64_t> fill_sample(pcgpu_sample_params *params, nb::dict values) {
    std::vector<int64_t> starts;
    pcgpu_sample_params_init(params);
    if (values.contains("starts")) {
        for (nb::handle start : nb::list(values["starts"])) {
            starts.push_back(integer(start, "start", INT64_MIN, INT64_MAX));
        }
        nb::del(values["starts"]);
    }
    fill(params, sample_params_fields, values, "sample");
    params->starts = starts.empty() ? nullptr : starts.data();
    return starts;
}

nb::dict to_dict(const void *from, const field *fields) {
    nb::dict out;
    for (const field *f = fields; f->name; f++) {
        out[f->name] = field_to_object((const char *)from + f->offset, f);
    }
    return out;
}

void fill_matrix(double to[16], nb::handle value, const char *name) {
    const field f = {name, FIELD_DOUBLES, 0, 16, 0, nullptr, nullptr};
    fill_list((char *)to, &f, value);
}
