// XXH3, 64 bits, of up to 32 bytes: what `stable_hash` makes of a short text, which is a byte of msgpack and the text.
//
// Written after the specification of XXH3 (seed 0, the default secret, of which so few bytes need the first 56). Part of
// where keys go: it must be what the xxhash package gives, in every process, and a test holds it to that.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace penstock {

static_assert(std::endian::native == std::endian::little, "XXH3 is defined by little-endian reads");

class ShortTextHash {
 public:
  static constexpr std::size_t kMostBytes = 31;  // of text: a longer one has a longer header

  // Of `length` bytes of UTF-8, at most kMostBytes.
  static std::uint64_t of(const char* text, std::size_t length) {
    std::uint8_t encoded[kMostBytes + 1];
    encoded[0] = static_cast<std::uint8_t>(0xa0 | length);  // msgpack's fixstr
    std::memcpy(encoded + 1, text, length);
    return xxh3(encoded, length + 1);
  }

 private:
  static std::uint64_t xxh3(const std::uint8_t* in, std::size_t length) {
    const auto size = static_cast<std::uint64_t>(length);
    if (length <= 3) {
      const std::uint64_t combined = static_cast<std::uint64_t>(in[0]) << 16 |
                                     static_cast<std::uint64_t>(in[length >> 1]) << 24 | in[length - 1] | size << 8;
      return last_of_xxh64(combined ^ (read32(kSecret) ^ read32(kSecret + 4)));
    }
    if (length <= 8) {
      const std::uint64_t both = read32(in + length - 4) + (static_cast<std::uint64_t>(read32(in)) << 32);
      return last_of_few(both ^ (read64(kSecret + 8) ^ read64(kSecret + 16)), size);
    }
    if (length <= 16) {
      const std::uint64_t low = read64(in) ^ read64(kSecret + 24) ^ read64(kSecret + 32);
      const std::uint64_t high = read64(in + length - 8) ^ read64(kSecret + 40) ^ read64(kSecret + 48);
      return last_of_xxh3(size + __builtin_bswap64(low) + high + folded(low, high));
    }
    return last_of_xxh3(size * kPrime1 + mixed(in, kSecret) + mixed(in + length - 16, kSecret + 16));
  }

  static std::uint64_t mixed(const std::uint8_t* in, const std::uint8_t* secret) {
    return folded(read64(in) ^ read64(secret), read64(in + 8) ^ read64(secret + 8));
  }

  // Both halves of the product, in one.
  static std::uint64_t folded(std::uint64_t one, std::uint64_t other) {
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(one) * other;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  }

  static std::uint64_t last_of_xxh64(std::uint64_t hash) {
    hash = (hash ^ hash >> 33) * kPrime2;
    hash = (hash ^ hash >> 29) * kPrime3;
    return hash ^ hash >> 32;
  }

  static std::uint64_t last_of_few(std::uint64_t hash, std::uint64_t size) {
    hash = (hash ^ std::rotl(hash, 49) ^ std::rotl(hash, 24)) * kMixer;
    hash = (hash ^ ((hash >> 35) + size)) * kMixer;
    return hash ^ hash >> 28;
  }

  static std::uint64_t last_of_xxh3(std::uint64_t hash) {
    hash = (hash ^ hash >> 37) * kAvalanche;
    return hash ^ hash >> 32;
  }

  static std::uint32_t read32(const std::uint8_t* at) {
    std::uint32_t value;
    std::memcpy(&value, at, sizeof value);
    return value;
  }

  static std::uint64_t read64(const std::uint8_t* at) {
    std::uint64_t value;
    std::memcpy(&value, at, sizeof value);
    return value;
  }

  static constexpr std::uint64_t kPrime1 = 0x9E3779B185EBCA87;
  static constexpr std::uint64_t kPrime2 = 0xC2B2AE3D27D4EB4F;
  static constexpr std::uint64_t kPrime3 = 0x165667B19E3779F9;
  static constexpr std::uint64_t kMixer = 0x9FB21C651E98DF25;
  static constexpr std::uint64_t kAvalanche = 0x165667919E3779F9;
  static constexpr std::uint8_t kSecret[56] = {
      0xb8, 0xfe, 0x6c, 0x39, 0x23, 0xa4, 0x4b, 0xbe, 0x7c, 0x01, 0x81, 0x2c, 0xf7, 0x21, 0xad, 0x1c, 0xde, 0xd4, 0x6d,
      0xe9, 0x83, 0x90, 0x97, 0xdb, 0x72, 0x40, 0xa4, 0xa4, 0xb7, 0xb3, 0x67, 0x1f, 0xcb, 0x79, 0xe6, 0x4e, 0xcc, 0xc0,
      0xe5, 0x78, 0x82, 0x5a, 0xd0, 0x7d, 0xcc, 0xff, 0x72, 0x21, 0xb8, 0x08, 0x46, 0x74, 0xf7, 0x43, 0x24, 0x8e,
  };
};

}  // namespace penstock
