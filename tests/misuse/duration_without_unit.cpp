// expect: conversion from .int. to|could not convert
#include <holdfast/session.hpp>

holdfast::acquire_options patient() {
#if defined(MISUSE)
  return {.wait = 15};
#else
  return {.wait = std::chrono::seconds{15}};
#endif
}
