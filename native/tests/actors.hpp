// The threads of the explorer's scenarios. They use the ring exactly as the bindings do: try, say that one will sleep,
// try again, sleep. Sleeps have no time limit here, so a wake-up that is lost shows as a thread that sleeps for ever.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "world.hpp"

namespace penstock::explorer {

class Actors {
 public:
  explicit Actors(World& world) : world_(world) {}

  // Writes letters of the given lengths, waiting for space where there is none, and stays attached.
  std::size_t writer(const std::string& name, const std::vector<std::uint32_t>& lengths, Fate fate = Fate::safe) {
    const std::size_t who = enlist(name, lengths, false);
    world_.authors[who].thread = Scheduler::the().spawn(fate, [this, who] { write_letters(who); });
    return who;
  }
  // Sends one large message in packets, and waits until it is settled.
  std::size_t sender(const std::string& name, std::uint32_t length, Fate fate = Fate::safe) {
    const std::size_t who = enlist(name, {length}, true);
    world_.authors[who].thread = Scheduler::the().spawn(fate, [this, who] { send_large(who); });
    return who;
  }
  // Declares a killed author dead, at any later moment.
  void undertaker(std::size_t who) {
    Scheduler::the().spawn(Fate::safe, [this, who] {
      Scheduler::the().wait_until([this, who] { return killed(who); });
      world_.authors[who].declared_dead = true;
      SlotTable<P>(world_.view).retire(world_.authors[who].slot);
    });
  }
  // Comes when `predecessor` was declared dead, takes its slot as soon as it is free, and writes.
  void heir(std::size_t predecessor, const std::vector<std::uint32_t>& lengths) {
    const std::size_t who = world_.add_author("heir", lengths);
    for (std::uint32_t i = 0; i < World::kSlots; ++i)
      world_.view.slot(i).owner.state = SlotState::live;  // no other is free
    world_.authors[who].thread = Scheduler::the().spawn(Fate::safe, [this, who, predecessor] {
      Scheduler& scheduler = Scheduler::the();
      const Author& old = world_.authors[predecessor];
      scheduler.wait_until([&] { return killed(predecessor) || scheduler.finished(old.thread); });
      if (!killed(predecessor)) {  // nobody died: nothing to inherit
        world_.authors[who].letters.clear();
        return;
      }
      SlotTable<P> slots(world_.view);
      const std::uint32_t slot = old.slot;
      scheduler.wait_until([&] { return old.declared_dead && slots.state(slot) == SlotState::dead; });
      std::optional<std::uint32_t> given;
      while (!(given = slots.admit(1, 1))) scheduler.wait_until([&] { return slots.forgotten(slot); });
      require(*given == slot, "the heir was given another slot than the dead author's");
      world_.authors[who].slot = slot;
      write_letters(who);
    });
  }
  // Letters that were written before the scenario begins.
  void wrote(const std::string& name, const std::vector<std::uint32_t>& lengths) {
    const std::size_t who = enlist(name, lengths, false);
    world_.authors[who].thread = Scheduler::kNobody;
    Scheduler::the().quietly([&] { write_letters(who); });
  }
  void reader(Fate fate = Fate::safe, std::size_t most = 4) {
    Scheduler::the().quietly([this] { open(0); });  // producers attach only to a ring that has a consumer
    reader_threads_ = {Scheduler::the().spawn(fate, [this, most] { read(0, most); })};
  }
  // Takes the ring over when the reader before it was killed.
  void successor(Fate fate = Fate::safe, std::size_t most = 4) {
    const std::size_t incarnation = reader_threads_.size();
    reader_threads_.push_back(Scheduler::the().spawn(fate, [this, incarnation, most] {
      Scheduler::the().wait_until([&] { return Scheduler::the().killed(reader_threads_[incarnation - 1]); });
      open(incarnation);
      read(incarnation, most);
    }));
  }
  // Keeps the first `count` records that the reader takes, and finishes them at any later moment, as a lease does.
  void borrower(std::size_t count) {
    to_lend_ = count;
    Scheduler::the().spawn(Fate::safe, [this, count] {
      Scheduler::the().wait_until([this, count] { return world_.lent.size() == count; });
      for (const Delivery& delivery : world_.lent) finish(*world_.readers[0].consumer, delivery);
      if (P::load(world_.view.control().space_group.producers_waiting, std::memory_order_seq_cst) != 0)
        world_.view.wake_consumer<P>();
    });
  }
  // Rings the reader's bell, once, with a bit of its own.
  void ringer(std::uint32_t bit, Fate fate = Fate::safe) {
    takes_bell_ = true;
    const std::size_t index = world_.ringers.size();
    world_.ringers.push_back({bit});
    world_.ringers[index].thread = Scheduler::the().spawn(fate, [this, index, bit] {
      world_.ringers[index].found = world_.view.control().waiting_group.bell;
      if (P::mutant == Mutant::bell_after_wake) {
        world_.view.wake_consumer<P>();
        P::fetch_or(world_.view.control().waiting_group.bell, bit, std::memory_order_seq_cst);
      } else {
        world_.view.ring_bell<P>(bit);
      }
    });
  }
  void closer() {
    Scheduler::the().spawn(Fate::safe, [this] { world_.readers[0].consumer->close(); });
  }

 private:
  bool killed(std::size_t who) const { return Scheduler::the().killed(world_.authors[who].thread); }

  // Before the scenario begins: the slot is given without steps.
  std::size_t enlist(const std::string& name, const std::vector<std::uint32_t>& lengths, bool large) {
    const std::size_t who = world_.add_author(name, lengths, large);
    const auto slot = static_cast<std::uint32_t>(who);
    world_.authors[who].slot = slot;
    world_.view.slot(slot).owner.retired_at = kNotRetired;
    world_.view.slot(slot).owner.state = SlotState::live;
    return who;
  }

  template <class Attempt>
  static void until_done(Producer<P>& producer, Attempt&& attempt) {
    while (!attempt()) {
      const std::uint32_t sequence = producer.prepare_wait();
      if (attempt()) return;
      producer.sleep(sequence, 0);
    }
  }

  void write_letters(std::size_t who) {
    Author& author = world_.authors[who];
    Producer<P> producer(world_.view, author.slot);
    std::byte bytes[World::kCapacity / kRecordsPerRing];
    for (std::size_t number = 0; number < author.letters.size() && !author.refused; ++number) {
      const std::uint32_t length = author.letters[number].length;
      World::compose(who, number, length, bytes);
      until_done(producer, [&] {
        const WriteResult result =
            producer.try_write(World::route(who, number), Kind::message, length, [&](std::byte* to) {
              world_.claimed(who, number, to, length);
              P::copy(to, bytes, length);
            });
        author.refused = result == WriteResult::closed;
        return result != WriteResult::full;
      });
    }
  }

  void send_large(std::size_t who) {
    Author& author = world_.authors[who];
    Producer<P> producer(world_.view, author.slot);
    std::byte bytes[World::kMaxMessage];
    World::compose(who, 0, author.letters[0].length, bytes);
    const auto id = static_cast<std::uint32_t>(who) + 1;
    PacketSender<P> sender(producer, id, World::route(who, 0), bytes, author.letters[0].length);
    until_done(producer, [&] {
      const SendResult result = sender.advance();
      author.refused = result == SendResult::closed;
      return result != SendResult::pending;
    });
  }

  void open(std::size_t incarnation) {
    world_.readers[incarnation].consumer.emplace(world_.view, 1, 1, 1);
    world_.readers[incarnation].assembler.emplace(world_.view);
  }
  void read(std::size_t incarnation, std::size_t most) {
    World::Reader& reader = world_.readers[incarnation];
    for (;;) {
      look(reader, most);
      if (takes_bell_) world_.heard(world_.view.take_bell<P>());
      if (reader.found.empty()) {
        reader.consumer->prepare_sleep();
        if (P::mutant != Mutant::sleep_without_look) look(reader, most);
        if (reader.found.empty()) {
          reader.consumer->sleep(0);
          continue;
        }
        reader.consumer->cancel_sleep();
      }
      for (const Delivery& delivery : reader.found) take(reader, incarnation, delivery);
    }
  }
  static void look(World::Reader& reader, std::size_t most) {
    reader.found.clear();
    reader.consumer->poll(most, reader.found);
  }
  void take(World::Reader& reader, std::size_t incarnation, const Delivery& delivery) {
    if (delivery.state.kind == Kind::packet) {
      std::optional<Assembled>& whole = reader.whole;
      whole = reader.assembler->add(delivery);
      reader.consumer->finish(delivery);
      if (!whole) return;
      world_.delivered(incarnation, delivery.route, whole->bytes.get(), whole->length);
      reader.consumer->settle(whole->slot, whole->message_id);
      world_.finished(delivery.route);
    } else {
      world_.delivered(incarnation, delivery.route, delivery.payload, delivery.state.length);
      if (world_.lent.size() < to_lend_) return world_.lent.push_back(delivery);
      Scheduler::the().step();  // the reader works on the payload, in the ring
      finish(*reader.consumer, delivery);
    }
  }
  void finish(Consumer<P>& consumer, const Delivery& delivery) {
    world_.check_payload(delivery.route, delivery.payload);
    consumer.finish(delivery);
    world_.finished(delivery.route);
  }

  World& world_;
  std::vector<std::size_t> reader_threads_;
  std::size_t to_lend_ = 0;
  bool takes_bell_ = false;  // where nobody rings, a look at the bell would only be more steps
};

}  // namespace penstock::explorer
