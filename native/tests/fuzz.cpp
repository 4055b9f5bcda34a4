// A peer that writes anything anywhere: the ring must answer with an error or a result, never with a crash, an access
// beyond its segment or an endless loop. Best built with AddressSanitizer and UndefinedBehaviorSanitizer.
//
//   fuzz [ROUNDS] [FIRST SEED]
//
// The segment lies in a heap block of exactly its size, so that AddressSanitizer sees a step beyond either end. Every
// round has its own seed, printed when it fails, and repeats exactly.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iterator>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "penstock/consumer.hpp"
#include "penstock/packets.hpp"
#include "penstock/producer.hpp"
#include "penstock/slots.hpp"

namespace penstock::fuzz {
namespace {

constexpr std::uint64_t kCapacity = 4096;
constexpr std::uint32_t kSlots = 4;
constexpr std::uint64_t kMaxMessage = 16 * 1024;
constexpr std::size_t kBytes = segment_bytes(kCapacity, kSlots);
constexpr unsigned kSecondsPerRound = 20;  // a round takes microseconds: only an endless loop gets there

// One thread: nobody could wake it.
struct SleeplessPlatform : LinuxPlatform {
  static void futex_wait(std::uint32_t&, std::uint32_t, std::int64_t) {}
};
using P = SleeplessPlatform;

std::uint64_t current_seed = 0;

class Round {
 public:
  explicit Round(std::uint64_t seed)
      : random_(seed), memory_(static_cast<std::byte*>(std::aligned_alloc(kPage, kBytes))) {
    std::memset(memory_.get(), 0, kBytes);
    view().initialise<P>(seed);
    const std::uint64_t start = random_() % 128 * kLine;
    ControlBlock& control = view().control();
    control.tail_group.tail = control.free_group.free = control.free_group.reclaim = start;
    for (std::uint32_t i = 0; i < kSlots; ++i) SlotTable<P>(view()).admit(1, 1);
  }

  // Use, scribble, use again; each use may find an error, and goes on as a caller would who ignores it.
  void run() {
    guarded([&] { reader_.emplace(view(), 1, 1, 1), assembler_.emplace(view()); });
    for (std::uint32_t i = 0; i < kSlots; ++i) writers_.emplace_back(view(), i);
    use(random_() % 12);
    for (std::uint64_t i = 0, times = 1 + random_() % 6; i < times; ++i) {
      scribble();
      use(1 + random_() % 8);
    }
    validate();
  }
  std::uint64_t errors() const { return errors_; }
  std::uint64_t deliveries() const { return deliveries_; }
  std::uint64_t sum() const { return sum_; }  // of all bytes delivered: so that every one of them is really read

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };

  // The sizes are known since attach; what stands in the segment now does not matter.
  RingView view() const { return RingView(memory_.get(), kCapacity, kSlots, kMaxMessage); }

  // What a caller may see. Anything else ends the program.
  template <class Action>
  void guarded(Action&& action) {
    try {
      action();
    } catch (const RingCorrupt&) {
      ++errors_;
    } catch (const RingMemory&) {
      ++errors_;
    } catch (const MessageTooLarge&) {
      ++errors_;
    }
  }

  void use(std::uint64_t times) {
    for (std::uint64_t i = 0; i < times; ++i) guarded([&] { use_once(); });
  }
  void use_once() {
    SlotTable<P> slots(view());
    const auto slot = static_cast<std::uint32_t>(random_() % kSlots);
    switch (random_() % 10) {
      case 0: case 1: case 2:
        return write(slot);
      case 3:
        return send(slot);
      case 4:
        return slots.retire(slot);
      case 5:
        slots.admit(1, 1);
        return;
      case 6:  // a successor
        reader_.reset();
        reader_.emplace(view(), 1, 1, 1);
        assembler_.emplace(view());
        return;
      default:
        return read();
    }
  }

  void write(std::uint32_t slot) {
    const auto length = static_cast<std::uint32_t>(random_() % (writers_[slot].max_payload() + 1));
    writers_[slot].try_write({1, 2, 3, 4, 5}, Kind::message, length,
                             [&](std::byte* to) { std::memset(to, static_cast<int>(random_()), length); });
  }
  void send(std::uint32_t slot) {
    const std::vector<std::byte> bytes(500 + random_() % 3000, std::byte{7});
    const auto id = static_cast<std::uint32_t>(1 + random_() % 3);
    PacketSender<P> sender(writers_[slot], id, {}, bytes.data(), bytes.size());
    sender.advance();
  }
  void read() {
    if (!reader_) return;
    std::vector<Delivery> found;
    reader_->stirred();
    reader_->poll(1 + random_() % 8, found);
    for (const Delivery& delivery : found) {
      ++deliveries_;
      add_up(delivery.payload, delivery.state.length);
      if (delivery.state.kind == Kind::packet)
        guarded([&] {
          if (const auto whole = assembler_->add(delivery)) {
            add_up(whole->bytes.get(), whole->length);
            reader_->settle(whole->slot, whole->message_id);
          }
        });
      if (random_() % 4 != 0) reader_->finish(delivery);
    }
    assembler_->drop_orphans();
    if (found.empty()) reader_->prepare_sleep(), reader_->sleep(0);
    reader_->drained();
  }

  void add_up(const std::byte* bytes, std::uint64_t length) {
    for (std::uint64_t i = 0; i < length; ++i) sum_ += std::to_integer<std::uint64_t>(bytes[i]);
  }

  // Attaching to the scribbled segment: refused, or understood.
  void validate() {
    guarded([&] {
      const RingView seen = RingView::validated<P>(memory_.get(), kBytes);
      if (segment_bytes(seen.capacity(), seen.max_producers()) != kBytes) std::abort();
      Consumer<P> successor(seen, 1, 1, 1);
      std::vector<Delivery> found;
      successor.poll(64, found);
    });
    guarded([&] { RingView::validated<P>(memory_.get(), random_() % kBytes); });
  }

  void scribble() {
    switch (random_() % 4) {
      case 0:  // anything, anywhere
        for (std::uint64_t i = 0, count = 1 + random_() % 64; i < count; ++i)
          memory_.get()[random_() % kBytes] = static_cast<std::byte>(random_());
        return;
      case 1: {  // a stretch of it
        const std::size_t begin = random_() % kBytes, length = random_() % (kBytes - begin);
        for (std::size_t i = 0; i < length; ++i) memory_.get()[begin + i] = static_cast<std::byte>(random_());
        return;
      }
      default:  // one word, where it hurts
        put(target_word(), interesting_value());
    }
  }
  void put(std::size_t at, std::uint64_t value) { std::memcpy(memory_.get() + at, &value, random_() % 3 ? 8 : 4); }

  std::size_t target_word() {
    const std::size_t data = data_offset(kSlots);
    switch (random_() % 6) {
      case 0:
        return random_() % (sizeof(ControlBlock) / 8) * 8;
      case 1: {
        const std::size_t fields[] = {offsetof(ControlBlock, tail_group), offsetof(ControlBlock, free_group),
                                      offsetof(ControlBlock, free_group) + 8, offsetof(ControlBlock, identity.capacity),
                                      offsetof(ControlBlock, identity.max_producers) & ~std::size_t{7}};
        return fields[random_() % std::size(fields)];
      }
      case 2:
        return sizeof(ControlBlock) + random_() % (kSlots * sizeof(ProducerSlot) / 8) * 8;
      case 3:  // a packet's head
        return data + random_() % (kCapacity / kLine) * kLine + sizeof(RecordHeader) + random_() % 3 * 8;
      default:  // a state word
        return data + random_() % (kCapacity / kLine) * kLine;
    }
  }
  std::uint64_t interesting_value() {
    const ControlBlock& control = view().control();
    const std::uint64_t near[] = {control.tail_group.tail, control.free_group.free, control.free_group.reclaim};
    const std::uint64_t step = random_() % 130 * kLine;
    switch (random_() % 7) {
      case 0:
        return random_() % 3 - 1;  // -1, 0, 1
      case 1:
        return near[random_() % 3] + step;
      case 2:
        return near[random_() % 3] - step;
      case 3:
        return std::uint64_t{1} << random_() % 64;
      case 4: {  // a record that looks right
        const RecordState state{static_cast<Status>(random_() % 6), static_cast<Kind>(random_() % 4),
                                static_cast<std::uint16_t>(random_() % (kSlots + 1)),
                                static_cast<std::uint32_t>(random_() % (random_() % 2 ? 600 : kCapacity + 64))};
        return state.pack();
      }
      case 5:
        return near[random_() % 3] | kClosed;
      default:
        return random_();
    }
  }

  std::mt19937_64 random_;
  std::unique_ptr<std::byte, Free> memory_;
  std::optional<Consumer<P>> reader_;
  std::optional<Assembler<P>> assembler_;
  std::vector<Producer<P>> writers_;
  std::uint64_t errors_ = 0, deliveries_ = 0;
  std::uint64_t sum_ = 0;
};

int run(std::uint64_t rounds, std::uint64_t first_seed) {
  std::set_terminate([] {
    std::fprintf(stderr, "FAILED: an error that no caller expects; again with: fuzz 1 %lu\n", current_seed);
    std::abort();
  });
  std::signal(SIGALRM, [](int) {
    char text[80];
    const int length =
        std::snprintf(text, sizeof(text), "FAILED: endless loop; again with: fuzz 1 %lu\n", current_seed);
    _exit(write(STDERR_FILENO, text, static_cast<std::size_t>(length)) > 0 ? 1 : 2);
  });
  std::uint64_t errors = 0, deliveries = 0, sum = 0;
  for (std::uint64_t i = 0; i < rounds; ++i) {
    current_seed = first_seed + i;
    alarm(kSecondsPerRound);
    Round round(current_seed);
    round.run();
    errors += round.errors();
    deliveries += round.deliveries();
    sum += round.sum();
  }
  alarm(0);
  std::printf("%lu rounds from seed %lu: %lu corruptions reported, %lu records delivered, sum of bytes %lu\n", rounds,
              first_seed, errors, deliveries, sum);
  // A fuzzer that never gets past the first check, or never trips one, tests nothing.
  return errors > rounds / 10 && deliveries > rounds / 10 ? 0 : 1;
}

}  // namespace
}  // namespace penstock::fuzz

int main(int count, char** arguments) {
  const std::uint64_t rounds = count > 1 ? std::strtoull(arguments[1], nullptr, 10) : 20'000;
  const std::uint64_t seed = count > 2 ? std::strtoull(arguments[2], nullptr, 10) : 1;
  return penstock::fuzz::run(rounds, seed);
}
