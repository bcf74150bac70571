/* The run time of nanobind, from its Python package. */
#include "nb_combined.cpp"
