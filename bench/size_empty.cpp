// A program that links nothing but the standard library.

#include "bench/own_size.hpp"

int main() { holdfast::bench::print_own_size(); }
