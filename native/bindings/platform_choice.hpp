// Which platform this extension module is built on: production's, or the one with crash points.
#pragma once

#ifdef PENSTOCK_CHAOS
#include "penstock/chaos.hpp"
namespace penstock::bindings {
using Platform = ChaosPlatform;
}
#else
#include "penstock/platform.hpp"
namespace penstock::bindings {
using Platform = LinuxPlatform;
}
#endif
