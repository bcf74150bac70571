/* IEEE 754 binary16. */
#ifndef HALF_H
#define HALF_H

#include <stdint.h>

/* The nearest binary16, ties to even. Overflow gives an infinity; NaN stays NaN. */
uint16_t half_from_float(float value);

#endif
