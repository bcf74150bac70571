/* pcgpu bench: compares the back ends on the user's own files. */
#ifndef BENCH_H
#define BENCH_H

#include <stdio.h>

int bench_main(int count, char **words); /* the words after "bench"; returns an exit code */
void bench_help(FILE *out);

#endif
