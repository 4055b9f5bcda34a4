// The binary layout of a ring's shared segment. Every offset of the ring is in this file and nowhere else.
//
//   0        128       256       384       512       640       768       896       1024
//   +---------+---------+---------+---------+---------+---------+---------+---------+------------------ - -
//   | identity|  tail   |free     |waiting  |space    | owner   |consumer | board   | ProducerSlot[max]
//   |         |  CAS    |reclaim  |futex    |futex    |         |counters | slot    | 256 bytes each
//   |         |         |         |bell     |         |         |         |         |
//   +---------+---------+---------+---------+---------+---------+---------+---------+------------------ - -
//                                                            rounded up to a page:  | data[capacity]
//
// Each group stands alone on two cache lines (128 bytes: x86 prefetches lines in pairs), because each has another
// writer: producers fight over `tail`, the consumer alone moves `free`, and so on.
//
// Positions (`tail`, `free`, `claim_begin` ...) are 64-bit byte counts that only grow; the place in memory is
// `position & (capacity - 1)`. They never repeat, so no comparison of positions can suffer from reuse.
//
// A record starts on a cache line ("line") and fills whole lines:
//
//    0                 7 8        11 12       15 16       19 20         23 24       27 28       31
//   +-------------------+-----------+-----------+-----------+-------------+-----------+-----------+---------- - -
//   | state word        | target    | source    | stream    | assignment  | flags     | unused    | payload
//   +-------------------+-----------+-----------+-----------+-------------+-----------+-----------+---------- - -
//    state word, one atomic 64-bit unit:
//      bits 0-31 payload length | 32-47 producer slot | 48-55 kind | 56-63 status
//
// A line whose first word is zero holds no header. All free lines have a zero first word: the consumer clears
// them before it gives the space back. That is what makes "claimed, but no header yet" visible.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock {

inline constexpr std::uint64_t kMagic = 0x31474e4952534e50;  // "PNSRING1", little-endian
inline constexpr std::uint32_t kLayoutVersion = 2;
inline constexpr std::size_t kLine = 64;
inline constexpr std::size_t kGroup = 128;
inline constexpr std::size_t kPage = 4096;
inline constexpr std::uint64_t kMinCapacity = 4096;
inline constexpr std::uint64_t kMaxCapacity = std::uint64_t{1} << 32;
inline constexpr std::uint32_t kMaxProducers = 4096;
inline constexpr std::uint64_t kRecordsPerRing = 8;  // one record takes an eighth of the ring at most

// Bit 63 of `tail`: no claim succeeds any more. Part of the CAS word, so closing and claiming cannot overlap.
inline constexpr std::uint64_t kClosed = std::uint64_t{1} << 63;
// `claim_begin` of a producer that has no claim under way.
inline constexpr std::uint64_t kNoClaim = ~std::uint64_t{0};
// `retired_at` of a slot whose producer has not been found gone.
inline constexpr std::uint64_t kNotRetired = ~std::uint64_t{0};

// TurboStream's isWriting, isReady, hasRead and flush; `none` is a line without a header.
enum class Status : std::uint8_t { none = 0, writing = 1, ready = 2, read = 3, flush = 4 };

// What a record's payload holds: one message, many (figure 5(c)), or a packet of a large one.
enum class Kind : std::uint8_t { message = 0, batch = 1, packet = 2 };

enum class SlotState : std::uint32_t {
  vacant = 0,  // nobody's
  live = 1,    // its producer may write at any moment
  dead = 2,    // its producer is proven dead: the kernel said so, no clock did
  left = 3,    // its producer detached in good order
};

struct alignas(kGroup) Identity {
  std::uint64_t magic;
  std::uint32_t version;  // stored last, with release: zero means "not ready"
  std::uint32_t max_producers;
  std::uint64_t capacity;
  std::uint64_t max_message;
  std::uint64_t nonce;
};

struct alignas(kGroup) TailGroup {
  std::uint64_t tail;
};

struct alignas(kGroup) FreeGroup {
  std::uint64_t free;     // everything below is cleared and may be claimed again
  std::uint64_t reclaim;  // everything below may be cleared: a new consumer repeats the clearing of [free, reclaim)
};

struct alignas(kGroup) WaitingGroup {
  std::uint32_t consumer_waiting;  // futex word: 1 while the consumer sleeps or is about to
  std::uint32_t bell;              // why the consumer is wanted, beside the records: a bit per reason, 0 for none
};

struct alignas(kGroup) SpaceGroup {
  std::uint32_t space_sequence;     // futex word: bumped whenever sleeping producers should look again
  std::uint32_t producers_waiting;  // 1 while any producer sleeps or is about to
};

struct alignas(kGroup) OwnerGroup {
  std::uint64_t generation;  // bumped by each consumer that takes the ring over
  std::uint64_t start_time;  // of `pid`, in clock ticks since boot: tells a reused pid from the same process
  std::uint64_t pid_namespace;
  std::uint32_t pid;
};

struct alignas(kGroup) ConsumerCounters {
  std::uint64_t records;            // handed out
  std::uint64_t bytes;              // payload bytes handed out
  std::uint64_t stalls;             // claims that the window went around because they were not ready
  std::uint64_t recovered_records;  // claims of dead producers whose space came back
  std::uint64_t recovered_bytes;
  std::uint64_t dropped_messages;   // large messages that never got all their packets
  std::uint64_t sleeps;             // times the consumer went to sleep in the kernel
};

struct ControlBlock {
  Identity identity;
  TailGroup tail_group;
  FreeGroup free_group;
  WaitingGroup waiting_group;
  SpaceGroup space_group;
  OwnerGroup owner;
  ConsumerCounters counters;
  alignas(kGroup) std::uint8_t board[kGroup];  // what the consumer tells its node: src/penstock/transport/board.py
};

// One per producing thread (or per process whose threads take turns). Only its producer writes the first and the
// third group; the consumer's side writes the second.
struct ProducerSlot {
  struct alignas(64) {
    std::uint64_t claim_begin;  // the claim that is being tried or was last made: [claim_begin, claim_end)
    std::uint64_t claim_end;
  } claim;
  struct alignas(64) {
    SlotState state;
    std::uint32_t pid;
    std::uint64_t start_time;
    std::uint64_t retired_at;       // `tail` when the producer was found gone; reusable once `free` has passed it
    std::uint32_t settled_message;  // id of the last large message that was taken whole
  } owner;
  struct alignas(kGroup) {
    std::uint64_t records;
    std::uint64_t bytes;
    std::uint64_t full_waits;  // times a write found the ring full
    std::uint64_t wakes;       // times a commit had to wake the consumer
    std::uint64_t large_messages;  // numbers them; goes on when the slot changes hands, so that no number comes twice
  } counters;
};

struct RecordHeader {
  std::uint64_t state_word;
  std::uint32_t target;
  std::uint32_t source;
  std::uint32_t stream;
  std::uint32_t assignment;
  std::uint32_t flags;
  std::uint32_t unused;
};

// Leads the payload of a record of kind `packet`. The papers give every packet a 16-byte unique id; a producer has
// one large message under way at a time, so its slot (in the state word) and a counter identify the message.
struct PacketHead {
  std::uint32_t message_id;
  std::uint32_t packet_number;
  std::uint32_t packet_count;
  std::uint32_t unused;
  std::uint64_t total_bytes;
};

// Leads each message inside a record of kind `batch`: the inner head of figure 5(c).
using BatchHead = std::uint32_t;

static_assert(sizeof(Identity) == kGroup && sizeof(ConsumerCounters) == kGroup);
static_assert(sizeof(ControlBlock) == 8 * kGroup);
static_assert(offsetof(ControlBlock, tail_group) == 128 && offsetof(ControlBlock, counters) == 768);
static_assert(offsetof(ControlBlock, waiting_group.bell) == 388 && offsetof(ControlBlock, board) == 896);
static_assert(sizeof(ProducerSlot) == 256);
static_assert(sizeof(RecordHeader) == 32 && offsetof(RecordHeader, target) == 8);
static_assert(sizeof(PacketHead) == 24);

// The state word, taken apart. A value copy: what was checked is what is used, whatever a peer does meanwhile.
struct RecordState {
  Status status;
  Kind kind;
  std::uint16_t slot;
  std::uint32_t length;

  static constexpr RecordState unpack(std::uint64_t word) {
    return {static_cast<Status>(word >> 56), static_cast<Kind>((word >> 48) & 0xff),
            static_cast<std::uint16_t>((word >> 32) & 0xffff), static_cast<std::uint32_t>(word)};
  }
  constexpr std::uint64_t pack() const {
    return std::uint64_t{static_cast<std::uint8_t>(status)} << 56 | std::uint64_t{static_cast<std::uint8_t>(kind)} << 48 |
           std::uint64_t{slot} << 32 | length;
  }
  constexpr RecordState with(Status other) const { return {other, kind, slot, length}; }
  // Bytes that the record takes in the ring: header and payload, in whole lines.
  constexpr std::uint64_t extent() const {
    return (sizeof(RecordHeader) + std::uint64_t{length} + kLine - 1) & ~std::uint64_t{kLine - 1};
  }
};

// Where a record goes and where it comes from. The ring carries it and does not interpret it.
struct Route {
  std::uint32_t target = 0;
  std::uint32_t source = 0;
  std::uint32_t stream = 0;
  std::uint32_t assignment = 0;
  std::uint32_t flags = 0;
};

constexpr std::size_t data_offset(std::uint32_t max_producers) {
  const std::size_t end = sizeof(ControlBlock) + std::size_t{max_producers} * sizeof(ProducerSlot);
  return (end + kPage - 1) & ~(kPage - 1);
}
constexpr std::size_t segment_bytes(std::uint64_t capacity, std::uint32_t max_producers) {
  return data_offset(max_producers) + capacity;
}
// The longest payload that one record can hold.
constexpr std::uint32_t max_record_payload(std::uint64_t capacity) {
  return static_cast<std::uint32_t>(capacity / kRecordsPerRing - sizeof(RecordHeader));
}

}  // namespace penstock
