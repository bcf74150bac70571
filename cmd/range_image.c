/* The range image that a scan becomes, one option: ROWS,COLUMNS or ROWS,COLUMNS,LOW,HIGH. */
#include "numbers.h"
#include "options.h"

#include <math.h>

static bool parse_range_image(const option_row *o, const char *text, void *field, char *why, size_t why_size) {
    (void)o;
    double v[4];
    const int n = numbers_parse(text, v, 4);
    const bool sized = (n == 2 || n == 4) && v[0] >= 0 && v[0] <= PCGPU_RANGE_ROWS && v[0] == floor(v[0]) &&
                       v[1] >= 0 && v[1] <= PCGPU_DEPTH_SIDE && fmod(v[1], PCGPU_RANGE_COLUMNS) == 0;
    if (!sized || (n == 4 && !(v[2] >= -90 && v[3] <= 90 && v[3] - v[2] >= PCGPU_RANGE_VIEW))) {
        snprintf(why, why_size,
                 "\"%s\" is not a range image; give up to %d rows and a multiple of %d columns up to %d, such as "
                 "64,1024, or 0 for what fits the scan, and behind them, if they are known, the lower and the upper "
                 "edge in degrees",
                 text, PCGPU_RANGE_ROWS, PCGPU_RANGE_COLUMNS, PCGPU_DEPTH_SIDE);
        return false;
    }
    *(pcgpu_range_image *)field = (pcgpu_range_image){
        .rows = (int)v[0], .columns = (int)v[1], .low = n == 4 ? v[2] : NAN, .high = n == 4 ? v[3] : NAN};
    return true;
}

static bool print_range_image(const option_row *o, const void *field, FILE *out) {
    (void)o;
    const pcgpu_range_image *image = field;
    char low[NUMBER_SIZE], high[NUMBER_SIZE];
    fprintf(out, "[%d, %d", image->rows, image->columns);
    if (!isnan(image->low)) {
        fprintf(out, ", %s, %s", number_text(image->low, false, low), number_text(image->high, false, high));
    }
    fputs("]", out);
    return true;
}

const option_type type_range_image = {VALUE_TEXT, true, false, parse_range_image, print_range_image};
