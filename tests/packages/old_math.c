/* pow and log2 got a new version in glibc 2.29, which does not set errno as SVID wanted. A program that is to run with
 * 2.28 is linked with --wrap=pow --wrap=log2 and calls the version of 2.2.5, which newer ones have as well; the values
 * are the same. */
double older_pow(double x, double y);
double older_log2(double x);
double __wrap_pow(double x, double y);
double __wrap_log2(double x);
__asm__(".symver older_pow, pow@GLIBC_2.2.5");
__asm__(".symver older_log2, log2@GLIBC_2.2.5");

double __wrap_pow(double x, double y) {
    return older_pow(x, y);
}

double __wrap_log2(double x) {
    return older_log2(x);
}
