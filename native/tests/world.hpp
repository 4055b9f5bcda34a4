// One run of a scenario: the ring's memory, the threads that use it as the bindings do, and a record of what happened
// against which every schedule is checked.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "explorer_platform.hpp"
#include "penstock/consumer.hpp"
#include "penstock/packets.hpp"
#include "penstock/producer.hpp"
#include "penstock/slots.hpp"

namespace penstock::explorer {

using P = ExplorerPlatform;

// The words are put together only when they are needed: this runs millions of times.
template <class... Words>
void require(bool holds, const Words&... words) {
  if (holds) return;
  std::ostringstream text;
  (text << ... << words);
  throw Violation(text.str());
}

// A message, and what became of it.
struct Letter {
  std::uint32_t length = 0;
  bool large = false;
  int delivered = 0;
  bool finished = false;  // read for good: must never come again
};

// One producing thread. Its letters are committed in order.
struct Author {
  std::vector<Letter> letters;
  std::size_t thread = 0;
  std::uint32_t slot = 0;
  std::size_t committed = 0;
  bool declared_dead = false;
  bool refused = false;  // the ring was closed
  std::string name;

  bool large() const { return !letters.empty() && letters[0].large; }
};

// A thread that wants the reader without a record.
struct Ringer {
  std::uint32_t bit = 0;
  std::size_t thread = 0;
  std::uint32_t found = 0;  // the bell when it came to ring
  bool heard = false;
};

class World {
 public:
  static constexpr std::uint64_t kCapacity = 4096;
  static constexpr std::uint32_t kSlots = 3;
  static constexpr std::uint64_t kMaxMessage = 8192;

  World()
      : memory_(static_cast<std::byte*>(std::aligned_alloc(kPage, kBytes))),
        view(memory_.get(), kCapacity, kSlots, kMaxMessage) {
    P::base = memory_.get();
    P::bytes = kBytes;
    P::slots = kSlots;
    P::committed = [this](const RecordState& state) { committed(state); };
  }

  // Begins anew: an empty ring whose positions stand at `start`.
  void reset(std::uint64_t start) {
    Scheduler::the().clear();
    P::forget();
    std::memset(memory_.get(), 0, kBytes);
    RingView(memory_.get(), kCapacity, kSlots, kMaxMessage).initialise<Quiet>(0);
    view.control().tail_group.tail = view.control().free_group.free = view.control().free_group.reclaim = start;
    start_ = start;
    authors.clear();
    ringers.clear();
    extents_.clear();
    lent.clear();
    for (auto& reader : readers) reader = {};
  }
  // Takes up `bytes` as if they had been written and read before: the consumer gives them back as it goes.
  void occupy(std::uint64_t bytes) {
    const RecordState flush{Status::flush, Kind::message, 0, static_cast<std::uint32_t>(bytes - sizeof(RecordHeader))};
    view.state_word(view.tail()) = flush.pack();
    view.tail() += bytes;
    start_ += bytes;
  }

  std::size_t add_author(const std::string& name, const std::vector<std::uint32_t>& lengths, bool large = false) {
    Author& author = authors.emplace_back();
    author.name = name;
    for (const std::uint32_t length : lengths) author.letters.push_back({length, large});
    return authors.size() - 1;
  }

  // What the author with index `who` wants to write: recognisable bytes, none of them zero.
  static void compose(std::size_t who, std::size_t number, std::uint32_t length, std::byte* to) {
    for (std::uint32_t i = 0; i < length; ++i)
      to[i] = static_cast<std::byte>(1 + (who * 83 + number * 29 + i * 7) % 255);
  }
  static Route route(std::size_t who, std::size_t number) {
    const auto w = static_cast<std::uint32_t>(who), n = static_cast<std::uint32_t>(number);
    return {w, n, w + 100, n + 200, w * 16 + n};
  }

  // A claim was made: nobody may hold any of these bytes.
  void claimed(std::size_t who, std::size_t number, const std::byte* begin, std::uint32_t length) {
    const std::byte* end = begin + length;
    for (const Extent& other : extents_)
      require(end <= other.begin || begin >= other.end || authors[other.who].declared_dead,
              "bytes claimed by ", authors[who].name, " are still in use by ", authors[other.who].name);
    extents_.push_back({begin, end, who, number});
  }

  // A reader was handed a record, or a large message; `reader` tells its incarnation.
  void delivered(std::size_t reader, const Route& got, const std::byte* payload, std::uint64_t length) {
    require(got.target < authors.size() && got.source < authors[got.target].letters.size(),
            "delivered, but never written");
    Author& author = authors[got.target];
    Letter& letter = author.letters[got.source];
    const auto require_letter = [&](bool holds, const char* what) {
      require(holds, author.name, "'s letter ", got.source, ": ", what);
    };
    const Route wanted = route(got.target, got.source);
    require_letter(got.stream == wanted.stream && got.assignment == wanted.assignment && got.flags == wanted.flags,
                   "delivered with another's route");
    require_letter(letter.large || got.source < author.committed, "delivered but not committed");
    require_letter(!letter.finished, "delivered again after it was finished");
    auto& last = readers[reader].last[got.target];
    require_letter(!last || *last < got.source, "delivered out of order, or twice by one consumer");
    last = got.source;
    require_letter(length == letter.length, "delivered with another length");
    check_payload(got, payload);
    ++letter.delivered;
  }
  void check_payload(const Route& got, const std::byte* payload) const {
    std::array<std::byte, kMaxMessage> wanted;
    const std::uint32_t length = authors[got.target].letters[got.source].length;
    compose(got.target, got.source, length, wanted.data());
    require(std::memcmp(payload, wanted.data(), length) == 0, authors[got.target].name, "'s letter ", got.source,
            ": bytes are not what was written");
  }
  void finished(const Route& got) {
    authors[got.target].letters[got.source].finished = true;
    std::erase_if(extents_, [&](const Extent& e) { return e.who == got.target && e.number == got.source; });
  }

  // A reader has taken the bell.
  void heard(std::uint32_t bits) {
    for (Ringer& ringer : ringers) {
      if ((bits & ringer.bit) == 0) continue;
      require(!ringer.heard, "a bell that was rung once was heard twice: bit ", ringer.bit);
      ringer.heard = true;
      bits &= ~ringer.bit;
    }
    require(bits == 0, "a bell was heard that nobody rang: bits ", bits);
  }

  // Nothing moves any more, except perhaps stopped threads: what must hold then.
  void check_delivery() const {
    check_bells();
    for (const Author& author : authors) {
      const Scheduler& scheduler = Scheduler::the();
      require(!scheduler.asleep(author.thread), "deadlock: ", author.name, " sleeps for ever");
      for (std::size_t i = 0; i < author.letters.size(); ++i) {
        // A stopped author may have stopped before it could wake the consumer; but it must not hold up the others.
        const bool due = author.letters[i].large ? scheduler.finished(author.thread) && !author.refused
                                                 : i < author.committed && !scheduler.stopped(author.thread);
        require(!due || author.letters[i].delivered > 0,
                author.name, "'s letter ", i, ": committed but not delivered (a lost wake-up?)");
      }
    }
  }
  void check_end() const {
    check_delivery();
    const Scheduler& scheduler = Scheduler::the();
    bool author_killed = false;
    for (const Author& author : authors) {
      const bool killed = scheduler.killed(author.thread);
      author_killed = author_killed || killed;
      require(killed || scheduler.finished(author.thread), "deadlock: ", author.name, " never ends");
      require(killed || author.refused || author.large() || author.committed == author.letters.size(),
              author.name, " ended without writing all its letters");
    }
    // What another thread finished while the reader slept comes back when the reader next looks; that it looks when
    // somebody needs the space is checked above.
    if (lent.empty()) check_space(author_killed);
  }

  struct Reader {
    std::optional<Consumer<P>> consumer;
    std::optional<Assembler<P>> assembler;
    std::vector<Delivery> found;
    std::optional<Assembled> whole;
    std::array<std::optional<std::size_t>, 8> last{};
  };

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  struct Extent {
    const std::byte *begin, *end;
    std::size_t who, number;
  };
  struct Quiet {
    template <class T>
    static void store(T& word, T value, std::memory_order) {
      word = value;
    }
  };
  static constexpr std::size_t kBytes = segment_bytes(kCapacity, kSlots);

  void committed(const RecordState& state) {
    if (state.kind == Kind::packet) return;
    for (Author& author : authors)
      if (author.thread == Scheduler::the().current()) ++author.committed;
  }

  void check_bells() const {
    std::uint32_t due = 0, heard = 0;
    for (const Ringer& ringer : ringers) {
      if (ringer.heard) heard |= ringer.bit;
      // Also what somebody rang before it who died before waking anybody.
      if (Scheduler::the().finished(ringer.thread)) due |= ringer.bit | ringer.found;
    }
    require((due & ~heard) == 0, "a bell was rung and not heard: bits ", due & ~heard);
  }

  // All space has come back, and the counters account for every byte that was ever claimed.
  void check_space(bool author_killed) const {
    const std::uint64_t tail = view.tail() & ~kClosed;
    require(view.free() == tail, "space is lost: free=", view.free(), " tail=", tail);
    for (std::uint64_t line = 0; line < kCapacity; line += kLine)
      require(view.state_word(line) == 0, "free line at offset ", line, " is not clear");
    const ConsumerCounters& counters = view.control().counters;
    require(author_killed || (counters.recovered_records == 0 && counters.recovered_bytes == 0),
            "recovered the space of a producer that is not dead");
    require((counters.recovered_records == 0) == (counters.recovered_bytes == 0), "recovered counters disagree");
    const bool again =
        std::any_of(readers.begin() + 1, readers.end(), [](const Reader& r) { return r.consumer.has_value(); });
    const bool packets = std::any_of(authors.begin(), authors.end(), [](const Author& a) { return a.large(); });
    if (again || packets) return;  // handed out twice, or in pieces: no simple sum
    std::uint64_t bytes = counters.recovered_bytes, payload = 0, records = 0;
    for (const Author& author : authors)
      for (std::size_t i = 0; i < author.committed; ++i, ++records) {
        payload += author.letters[i].length;
        bytes += RecordState{Status::ready, Kind::message, 0, author.letters[i].length}.extent();
      }
    require(counters.records == records && counters.bytes == payload,
            "counters of delivered records and bytes are wrong");
    const std::uint64_t flushed = tail - start_ - bytes;  // a live producer's flush record at the wrap
    const bool wrapped = start_ / kCapacity != tail / kCapacity;
    require(flushed < (wrapped ? kCapacity / kRecordsPerRing : 1), "claimed bytes do not add up");
  }

  std::unique_ptr<std::byte, Free> memory_;
  std::uint64_t start_ = 0;
  std::vector<Extent> extents_;

 public:
  RingView view;
  std::vector<Author> authors;
  std::vector<Ringer> ringers;
  std::array<Reader, 3> readers;  // each one the successor of the one before
  std::vector<Delivery> lent;     // handed out, to be finished by another thread than the reader's
};

}  // namespace penstock::explorer
