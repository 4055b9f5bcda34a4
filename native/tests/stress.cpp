// Real threads on one real segment: eight producers and one consumer over a ring so small that it is full, and wraps,
// all the time. Built with ThreadSanitizer, and with AddressSanitizer and UndefinedBehaviorSanitizer.
//
//   stress [SECONDS] [SEED]
//
// Every message says who wrote it and which one it is, and is filled with bytes that follow from that: the consumer
// can tell a message that is missing, comes twice, comes too early or was damaged. Producers leave and others take
// their slots while the ring is in use. Others ring the consumer's bell, by themselves or through descriptors.
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "penstock/consumer.hpp"
#include "penstock/descriptor_watch.hpp"
#include "penstock/packets.hpp"
#include "penstock/producer.hpp"
#include "penstock/segment.hpp"
#include "penstock/slots.hpp"

namespace penstock::stress {
namespace {

constexpr std::uint64_t kCapacity = 16 * 1024;
constexpr std::uint32_t kMaxMessage = 64 * 1024;
constexpr std::uint32_t kProducers = 8;
constexpr std::uint32_t kRingers = 3;
constexpr std::uint32_t kCallers = 2;
constexpr std::int64_t kSliceNs = 1'000'000'000;  // no sleep needs it; it lets a lost wake-up be counted, not hang
using Clock = std::chrono::steady_clock;

// Records are small here: those that wake the consumer before they are copied, too.
struct P : LinuxPlatform {
  static constexpr std::uint32_t kWakeEarlyAbove = 500;
};

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
  SlotTable<P> slots;
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
      PacketSender<P> sender(producer_, ++large_id_, route, message_.data(), length);
      until_done([&] { return sender.advance() == SendResult::settled; });
    } else {
      until_done([&] {
        return producer_.try_write(route, Kind::message, length, [&](std::byte* to) {
                 P::copy(to, message_.data(), length);
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
  Producer<P> producer_;
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

// What a bell is about: a word of ordinary memory, which TSan would see as a race if the bell did not order it.
// Whoever rings waits for the answer, so a bell that is lost for good hangs, and the test's time limit ends it.
struct Visit {
  std::uint64_t asked = 0;
  std::atomic<std::uint64_t> answered{0};

  void wait_for_answer() const {
    for (std::uint64_t last; (last = answered.load()) != asked;) answered.wait(last);
  }
};

// Rings by itself.
void run_ringer(Shared& shared, Visit& visit, std::uint32_t bit) {
  while (!shared.over) {
    ++visit.asked;
    shared.view.ring_bell<P>(bit);
    visit.wait_for_answer();
  }
}
// Rings through a descriptor that is watched.
void run_caller(Shared& shared, Visit& visit, int descriptor) {
  while (!shared.over) {
    ++visit.asked;
    require(write(descriptor, &visit.asked, sizeof(visit.asked)) == sizeof(visit.asked), "a pipe is full");
    visit.wait_for_answer();
  }
}

class Reader {
 public:
  explicit Reader(Shared& shared, std::shared_ptr<const Segment> segment)
      : shared_(shared),
        consumer_(shared.view, 1, 1, 1),
        assembler_(shared.view),
        watch_(std::move(segment), shared.view) {
    for (Pipe& pipe : pipes) require(::pipe(pipe.ends) == 0, "no pipe");
    for (std::uint32_t i = 0; i < kCallers; ++i) watch_.add(pipes[i].ends[0], 1u << (kRingers + i));
  }
  ~Reader() {
    watch_.close();
    for (const Pipe& pipe : pipes) close(pipe.ends[0]), close(pipe.ends[1]);
  }

  // Until every producer has gone and all is read.
  void run(const std::atomic<int>& producing) {
    for (bool gone = false; !gone || !consumer_.drained();) {
      gone = producing == 0;
      answer(shared_.view.take_bell<P>());
      if (look() || gone) continue;
      consumer_.prepare_sleep();
      if (look())
        consumer_.cancel_sleep();
      else
        timed(shared_, [&] { consumer_.sleep(kSliceNs); });
    }
  }
  std::uint64_t messages() const { return messages_; }
  std::uint64_t visits() const { return visits_; }
  const Consumer<P>& consumer() const { return consumer_; }

  struct Pipe {
    int ends[2];
  };
  std::array<Pipe, kCallers> pipes;
  std::array<Visit, kRingers + kCallers> visitors;

 private:
  void answer(std::uint32_t bits) {
    for (std::uint32_t i = 0; i < visitors.size(); ++i) {
      if ((bits >> i & 1) == 0) continue;
      Visit& visit = visitors[i];
      if (i < kRingers) {
        require(visit.asked == visit.answered + 1, "a bell was heard twice");
        visit.answered = visit.asked;  // from here on `asked` is the ringer's again
      } else {
        const int descriptor = pipes[i - kRingers].ends[0];
        std::uint64_t asked;
        require(::read(descriptor, &asked, sizeof(asked)) == sizeof(asked), "a descriptor rang with nothing to read");
        require(asked == visit.answered + 1, "a descriptor rang twice");
        require(watch_.rearm(descriptor), "a descriptor is not watched any more");
        visit.answered = asked;
      }
      visit.answered.notify_one();
      ++visits_;
    }
  }

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
  Consumer<P> consumer_;
  Assembler<P> assembler_;
  std::vector<Delivery> found_;
  std::map<std::uint32_t, std::uint64_t> next_;
  std::uint64_t messages_ = 0, visits_ = 0;
  DescriptorWatch<P> watch_;
};

int run(double seconds, std::uint64_t seed) {
  const auto segment =
      std::make_shared<const Segment>(Segment::create(kCapacity, kProducers, kMaxMessage, seed));
  Shared shared(segment->view());
  Reader reader(shared, segment);
  std::atomic<int> producing{kProducers + kRingers + kCallers};
  std::vector<std::thread> threads;
  for (std::uint32_t i = 0; i < kProducers; ++i)
    threads.emplace_back([&, i] {
      run_producer(shared, seed + i);
      --producing;
      shared.view.wake_consumer<P>();
    });
  for (std::uint32_t i = 0; i < kRingers + kCallers; ++i)
    threads.emplace_back([&, i] {
      if (i < kRingers)
        run_ringer(shared, reader.visitors[i], 1u << i);
      else
        run_caller(shared, reader.visitors[i], reader.pipes[i - kRingers].ends[1]);
      --producing;
      shared.view.wake_consumer<P>();
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
  require(reader.visits() >= kRingers + kCallers, "a bell was never heard");
  std::uint64_t full_waits = 0, records = 0;
  for (std::uint32_t i = 0; i < kProducers; ++i) {
    full_waits += shared.view.slot(i).counters.full_waits;
    records += shared.view.slot(i).counters.records;
  }
  require(records == counters.records, "producers and consumer count different numbers of records");
  std::printf("seed %lu: %lu messages in %lu records from %u authors; %lu full waits, %lu stalls, %lu sleeps, "
              "%lu visits, %lu sleeps that nobody ended in time\n",
              seed, reader.messages(), counters.records, shared.authors.load(), full_waits, counters.stalls,
              counters.sleeps, reader.visits(), shared.expired.load());
  return 0;
}

}  // namespace
}  // namespace penstock::stress

int main(int count, char** arguments) {
  const double seconds = count > 1 ? std::atof(arguments[1]) : 3.0;
  const std::uint64_t seed = count > 2 ? std::strtoull(arguments[2], nullptr, 10) : 1;
  return penstock::stress::run(seconds, seed);
}
