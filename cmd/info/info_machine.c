/* The properties of this build and machine: --version -v, and info without an input. */
#include "info.h"
#include "recording.h"

enum { DEVICES_MAX = 64 };

static void print_driver(int driver, char *text, size_t size) {
    snprintf(text, size, driver ? "%d.%d" : "none", driver / 1000, driver % 1000 / 10);
}

static const char *architectures(void) {
    const char *built = pcgpu_cuda_architectures();
    return built[0] ? built : "none: CPU only, built without CUDA";
}

void version_print(bool verbose) {
    pcgpu_device_info devices[DEVICES_MAX];
    char why[256] = "", version[16];
    int driver = 0;
    const pcgpu_format_info *f;
    printf("pcgpu %s\n", pcgpu_version());
    if (!verbose) {
        return;
    }
    int count = pcgpu_devices(devices, DEVICES_MAX, why, sizeof why, &driver);
    print_driver(driver, version, sizeof version);
    printf("back ends: cpu%s\n", pcgpu_cuda_architectures()[0] ? ", cuda" : "");
    printf("GPU architectures: %s\n", architectures());
    printf("formats:\n");
    for (int i = 0; (f = pcgpu_format_at(i)); i++) {
        printf("  %-9s %-6s %-4s %-5s  %s\n", f->name, f->extension, f->reads ? "read" : "",
               f->writes || f->writes_arrays ? "write" : "", f->description);
    }
    printf("expands recordings of: %s\n", pc_recording_libraries());
    if (count == 0) {
        printf("CUDA devices: none: %s\n", why);
    } else {
        printf("CUDA devices: %d, the driver supports CUDA %s\n", count, version);
    }
    for (int i = 0; i < count && i < DEVICES_MAX; i++) {
        printf("  %d: %s, compute capability %d.%d, %d multiprocessors, %.1f GiB\n", i, devices[i].name,
               devices[i].major, devices[i].minor, devices[i].multiprocessors,
               (double)devices[i].memory / (1024.0 * 1024 * 1024));
    }
}

static void machine_json(const session *s) {
    pcgpu_device_info devices[DEVICES_MAX];
    char why[256] = "", version[16];
    int driver = 0, count = pcgpu_devices(devices, DEVICES_MAX, why, sizeof why, &driver);
    json out;
    if (!session_json_open(s, &out)) {
        return;
    }
    json_text(&out, "architectures", pcgpu_cuda_architectures());
    print_driver(driver, version, sizeof version);
    json_text(&out, "driver", driver ? version : NULL);
    json_key(&out, "devices");
    fputc('[', out.out);
    for (int i = 0; i < count && i < DEVICES_MAX; i++) {
        fputs(i ? ", " : "", out.out);
        json_open(&out, NULL);
        json_text(&out, "name", devices[i].name);
        json_integer(&out, "major", devices[i].major);
        json_integer(&out, "minor", devices[i].minor);
        json_integer(&out, "multiprocessors", devices[i].multiprocessors);
        json_integer(&out, "memory", (int64_t)devices[i].memory);
        json_close(&out);
    }
    fputc(']', out.out);
    json_text(&out, "cuda_unusable", count == 0 ? why : NULL);
    session_json_close(&out);
}

int info_machine(session *s) {
    machine_json(s);
    if (!session_json_is_stdout(s)) {
        version_print(true);
    }
    return EXIT_DONE;
}
