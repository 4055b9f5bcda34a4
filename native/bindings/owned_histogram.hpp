// SPDX-License-Identifier: Apache-2.0
// penstock._native.Histogram, as other parts of the native core see it.
#pragma once

#include <cstdint>
#include <memory>

#include "penstock/histogram.hpp"

namespace penstock::bindings {

// Moving keeps the words in place, so `core` stays valid; copying is ruled out by unique_ptr.
struct OwnedHistogram {
    explicit OwnedHistogram(const HistogramShape& shape)
        : words(std::make_unique<std::uint64_t[]>(Histogram::word_count(shape))), core(shape, words.get()) {}

    std::unique_ptr<std::uint64_t[]> words;
    Histogram core;
};

}  // namespace penstock::bindings
