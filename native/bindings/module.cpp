// The extension module: one private name, penstock._native (or _native_chaos, for tests).
#include <nanobind/nanobind.h>

namespace penstock::bindings {
void bind_ring(nanobind::module_& m);
void bind_histogram(nanobind::module_& m);
void bind_rows(nanobind::module_& m);
}  // namespace penstock::bindings

NB_MODULE(PENSTOCK_MODULE_NAME, m) {
  nanobind::set_leak_warnings(false);  // a ring that is still open at exit is the kernel's to clean up
  m.doc() = "Penstock's native core: the shared-memory ring, the latency histogram, and a look at rows.";
  penstock::bindings::bind_ring(m);
  penstock::bindings::bind_histogram(m);
  penstock::bindings::bind_rows(m);
}
