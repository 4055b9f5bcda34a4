// The extension module: one private name, penstock._native (or _native_chaos, for tests).
#include <nanobind/nanobind.h>

namespace penstock::bindings {
void bind_ring(nanobind::module_& m);
void bind_descriptor_watch(nanobind::module_& m);
void bind_link(nanobind::module_& m);
void bind_histogram(nanobind::module_& m);
void bind_rows(nanobind::module_& m);
void bind_emitter(nanobind::module_& m);
void bind_fast_path(nanobind::module_& m);
void bind_columns(nanobind::module_& m);
}  // namespace penstock::bindings

NB_MODULE(PENSTOCK_MODULE_NAME, m) {
  nanobind::set_leak_warnings(false);  // a ring that is still open at exit is the kernel's to clean up
  m.doc() = "Penstock's native core: the shared-memory ring, a watch over descriptors, links, the latency histogram, and loops over rows and columns.";
  penstock::bindings::bind_ring(m);
  penstock::bindings::bind_descriptor_watch(m);
  penstock::bindings::bind_link(m);
  penstock::bindings::bind_histogram(m);
  penstock::bindings::bind_rows(m);
  penstock::bindings::bind_emitter(m);
  penstock::bindings::bind_fast_path(m);
  penstock::bindings::bind_columns(m);
}
