// Real threads on one real segment: eight producers and one consumer over a ring so small that it is full, and wraps,
// all the time. Built with ThreadSanitizer, and with AddressSanitizer and UndefinedBehaviorSanitizer.
//
//   stress [SECONDS] [SEED]
//
// Every message says who wrote it and which one it is, and is filled with bytes that follow from that: the consumer
// can tell a message that is missing, comes twice, comes too early or was damaged. Producers leave and others take
// their slots while the ring is in use.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "penstock/consumer.hpp"
#include "penstock/packets.hpp"
#include "penstock/producer.hpp"
#include "penstock/segment.hpp"
#include "penstock/slots.hpp"

namespace penstock::stress {
namespace {

constexpr std::uint64_t kCapacity = 16 * 1024;
constexpr std::uint32_t kMaxMessage = 64 * 1024;
constexpr std::uint32_t kProducers = 8;
constexpr std::int64_t kSliceNs = 1'000'000'000;  // no sleep needs it; it lets a lost wake-up be counted, not hang
using Clock = std::chrono::steady_clock;

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "FAILED: %s\n", what);
  std::abort();
}

// Leads every message. An author writes numbers 0, 1, 2 ... and is never the same twice.
struct Stamp {
  std::uint32_t author;
  std::uint32_t length;
  std::uint64_t number;
};

std::byte filler(const Stamp& stamp, std::size_t at) {
  return static_cast<std::byte>(stamp.author * 31 + stamp.number * 17 + at * 7 + 1);
}
void compose(const Stamp& stamp, std::vector<std::byte>& message) {
  message.resize(stamp.length);
  std::memcpy(message.data(), &stamp, sizeof(stamp));
  for (std::size_t i = sizeof(stamp); i < message.size(); ++i) message[i] = filler(stamp, i);
}

struct Shared {
  explicit Shared(RingView ring) : view(ring), slots(ring) {}
  RingView view;
  SlotTable<> slots;
  std::mutex door;  // admits and retires one at a time, as the socket does
  std::atomic<std::uint32_t> authors{0};
  std::atomic<std::uint64_t> written{0};
  std::atomic<std::uint64_t> expired{0};  // sleeps that lasted a whole slice
  std::atomic<bool> over{false};
};

template <class Sleep>
void timed(Shared& shared, Sleep&& sleep) {
  const auto began = Clock::now();
  sleep();
  if (Clock::now() - began >= std::chrono::nanoseconds(kSliceNs)) ++shared.expired;
}

// One stay at the ring, from attach to leave.
class Author {
 public:
  Author(Shared& shared, std::uint32_t slot, std::uint64_t seed)
      : shared_(shared), producer_(shared.view, slot), random_(seed), id_(shared.authors++) {}

  void write_some() {
    const std::uint64_t count = 1 + random_() % 400;
    for (std::uint64_t number = 0; number < count && !shared_.over; ++number) write_one(number);
    producer_.leave();
  }

 private:
  void write_one(std::uint64_t number) {
    const std::uint32_t limit = producer_.max_payload();
    const std::uint64_t dice = random_() % 100;
    const auto spread = [&](std::uint32_t most) {
      return static_cast<std::uint32_t>(sizeof(Stamp) + random_() % (most - sizeof(Stamp) + 1));
    };
    const bool large = dice >= 97;
    const std::uint32_t length = large        ? spread(dice == 99 ? kMaxMessage : 8 * limit)
                                 : dice >= 90 ? limit - static_cast<std::uint32_t>(random_() % 2)
                                 : dice >= 60 ? spread(limit)
                                              : spread(100);
    compose({id_, length, number}, message_);
    const Route route{id_, static_cast<std::uint32_t>(number), 3, 4, 5};
    if (length > limit) {
      PacketSender<> sender(producer_, ++large_id_, route, message_.data(), length);
      until_done([&] { return sender.advance() == SendResult::settled; });
    } else {
      until_done([&] {
        return producer_.try_write(route, Kind::message, length, [&](std::byte* to) {
                 LinuxPlatform::copy(to, message_.data(), length);
               }) == WriteResult::written;
      });
    }
    ++shared_.written;
  }

  template <class Attempt>
  void until_done(Attempt&& attempt) {
    while (!attempt()) {
      producer_.count_full_wait();
      const std::uint32_t sequence = producer_.prepare_wait();
      if (attempt()) return;
      timed(shared_, [&] { producer_.sleep(sequence, kSliceNs); });
    }
  }

  Shared& shared_;
  Producer<> producer_;
  std::mt19937_64 random_;
  std::uint32_t id_;
  std::uint32_t large_id_ = id_ * 1000;
  std::vector<std::byte> message_;
};

// Stays come and go until the time is over.
void run_producer(Shared& shared, std::uint64_t seed) {
  for (std::uint64_t stay = 0; !shared.over; ++stay) {
    std::optional<std::uint32_t> slot;
    {
      const std::lock_guard lock(shared.door);
      slot = shared.slots.admit(static_cast<std::uint32_t>(getpid()), 1);
    }
    if (!slot) {
      std::this_thread::yield();  // the slots of those who left are not forgotten yet
      continue;
    }
    Author(shared, *slot, seed * 1'000'003 + stay).write_some();
    const std::lock_guard lock(shared.door);
    shared.slots.retire(*slot);
  }
}

class Reader {
 public:
  explicit Reader(Shared& shared) : shared_(shared), consumer_(shared.view, 1, 1, 1), assembler_(shared.view) {}

  // Until every producer has gone and all is read.
  void run(const std::atomic<int>& producing) {
    for (bool gone = false; !gone || !consumer_.drained();) {
      gone = producing == 0;
      if (look() || gone) continue;
      consumer_.prepare_sleep();
      if (look())
        consumer_.cancel_sleep();
      else
        timed(shared_, [&] { consumer_.sleep(kSliceNs); });
    }
  }
  std::uint64_t messages() const { return messages_; }
  const Consumer<>& consumer() const { return consumer_; }

 private:
  bool look() {
    found_.clear();
    consumer_.poll(64, found_);
    for (const Delivery& delivery : found_) {
      if (delivery.state.kind == Kind::packet) {
        const std::optional<Assembled> whole = assembler_.add(delivery);
        consumer_.finish(delivery);
        if (!whole) continue;
        take(delivery.route, whole->bytes.get(), whole->length);
        consumer_.settle(whole->slot, whole->message_id);
      } else {
        take(delivery.route, delivery.payload, delivery.state.length);
        consumer_.finish(delivery);
      }
    }
    assembler_.drop_orphans();
    return !found_.empty();
  }

  void take(const Route& route, const std::byte* payload, std::uint64_t length) {
    Stamp stamp;
    require(length >= sizeof(stamp), "a message is too short");
    std::memcpy(&stamp, payload, sizeof(stamp));
    require(stamp.length == length, "a message has another length than was written");
    require(route.target == stamp.author && route.source == static_cast<std::uint32_t>(stamp.number) &&
                route.stream == 3 && route.assignment == 4 && route.flags == 5,
            "a message has another's route");
    require(next_[stamp.author]++ == stamp.number, "a message is missing, comes twice or out of order");
    for (std::size_t i = sizeof(stamp); i < length; ++i)
      if (payload[i] != filler(stamp, i)) require(false, "a message was damaged");
    ++messages_;
  }

  Shared& shared_;
  Consumer<> consumer_;
  Assembler<> assembler_;
  std::vector<Delivery> found_;
  std::map<std::uint32_t, std::uint64_t> next_;
  std::uint64_t messages_ = 0;
};

int run(double seconds, std::uint64_t seed) {
  const Segment segment = Segment::create(kCapacity, kProducers, kMaxMessage, seed);
  Shared shared(segment.view());
  Reader reader(shared);
  std::atomic<int> producing{kProducers};
  std::vector<std::thread> threads;
  for (std::uint32_t i = 0; i < kProducers; ++i)
    threads.emplace_back([&, i] {
      run_producer(shared, seed + i);
      --producing;
      shared.view.wake_consumer<LinuxPlatform>();
    });
  threads.emplace_back([&] {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    shared.over = true;
  });
  reader.run(producing);
  for (std::thread& thread : threads) thread.join();

  const ConsumerCounters& counters = shared.view.control().counters;
  require(reader.messages() == shared.written, "not every message that was written was read");
  require(counters.recovered_records == 0, "space of a living producer was recovered");
  require(counters.dropped_messages == 0, "a large message was dropped");
  require(reader.consumer().stalls().empty(), "a stall is left over");
  std::uint64_t full_waits = 0, records = 0;
  for (std::uint32_t i = 0; i < kProducers; ++i) {
    full_waits += shared.view.slot(i).counters.full_waits;
    records += shared.view.slot(i).counters.records;
  }
  require(records == counters.records, "producers and consumer count different numbers of records");
  std::printf("seed %lu: %lu messages in %lu records from %u authors; %lu full waits, %lu stalls, %lu sleeps, "
              "%lu sleeps that nobody ended in time\n",
              seed, reader.messages(), counters.records, shared.authors.load(), full_waits, counters.stalls,
              counters.sleeps, shared.expired.load());
  return 0;
}

}  // namespace
}  // namespace penstock::stress

int main(int count, char** arguments) {
  const double seconds = count > 1 ? std::atof(arguments[1]) : 3.0;
  const std::uint64_t seed = count > 2 ? std::strtoull(arguments[2], nullptr, 10) : 1;
  return penstock::stress::run(seconds, seed);
}
