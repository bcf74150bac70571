/* placeholder: replaced by the registration work */
#ifndef PC_ICP_H
#define PC_ICP_H
#include "geometry.h"
enum { PC_ICP_SUMS = 32 };
#endif
