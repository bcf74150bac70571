/* What must hold for any configuration in Python: a sentence that names the place, or options whose --dry-run, read as
 * YAML, is the same. */
#include "fuzz.h"

#include "config.h"

int fuzz_check_python(const uint8_t *data, size_t size) {
    commands_use(all_commands);
    const command_info *command = command_by_name("voxelize");
    reason why = {""};
    option_values o;
    fuzz_write_file("config.py", data, size); /* which may inherit from itself, a circle */
    options_init(&o, command);
    const bool good = config_load("config.py", command, &o, &why);
    if (!good) {
        fuzz_check_shown(why.text, "config.py:");
    } else {
        fuzz_check_again(&o, command);
    }
    options_free(&o);
    return good;
}
