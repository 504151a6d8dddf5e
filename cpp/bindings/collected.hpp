// What Python's garbage collector has to know of objects that own others: a kernel callable may lead back to the rows
// that it computes, by way of an exception that it raised, whose traceback holds them.
#pragma once

#include <nanobind/nanobind.h>

#include <utility>
#include <vector>

namespace nb = nanobind;

namespace widemargin::bindings {

template <class T>
int visit_owned(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (!nb::inst_ready(self)) return 0;  // still under construction
  int ended = 0;
  nb::inst_ptr<T>(self)->each_owned([&](nb::object& owned) {
    if (ended == 0 && owned.is_valid()) ended = visit(owned.ptr(), arg);
  });
  return ended;
}

template <class T>
int drop_owned(PyObject* self) {
  if (!nb::inst_ready(self)) return 0;
  std::vector<nb::object> dropped;  // all of them at once: what ends with one may look at the others
  nb::inst_ptr<T>(self)->each_owned([&](nb::object& owned) { dropped.push_back(std::move(owned)); });
  return 0;
}

// The slots of a type whose `each_owned` calls a function with every Python object that it owns.
template <class T>
PyType_Slot* collected() {
  static PyType_Slot slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(&visit_owned<T>)},
                                {Py_tp_clear, reinterpret_cast<void*>(&drop_owned<T>)},
                                {0, nullptr}};
  return slots;
}

}  // namespace widemargin::bindings
