// A solve step by step, for tests.
#pragma once

#include <nanobind/nanobind.h>

namespace widemargin::bindings {

void define_trace(nanobind::module_& m);

}  // namespace widemargin::bindings
