// What the explorer runs: small cases in which everything that can go wrong with the ring can go wrong.
//
// A payload of n bytes takes (32 + n) bytes of the ring, in lines of 64; the ring has 4096, a record at most 512.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "actors.hpp"

namespace penstock::explorer {

struct Scenario {
  std::string name;
  Budget budget;       // of the everyday run
  Budget deep_budget;  // of --deep
  std::function<void(World&, Actors&)> set_up;
};

inline std::vector<Scenario> scenarios() {
  constexpr std::uint64_t near_end = World::kCapacity - 128;  // the next lap begins two lines on
  constexpr auto mortal = Fate::mortal;
  return {
      {"bell", {.preemptions = 2}, {.preemptions = 3},  // two ring while a record comes
       [](World& world, Actors& actors) {
         world.reset(0);
         actors.reader();
         actors.ringer(1);
         actors.ringer(2);
         actors.writer("ann", {20});
       }},
      {"kill-ringer", {.preemptions = 2, .kills = 1, .stops = 1}, {.preemptions = 3, .kills = 1, .stops = 1},
       [](World& world, Actors& actors) {
         world.reset(0);
         actors.reader();
         actors.ringer(1, mortal);  // it may have set the bell, taken the flag, and woken nobody: others still do
         actors.ringer(2);
         actors.writer("ann", {20});
       }},
      {"bell-kill-reader", {.preemptions = 1, .kills = 1}, {.preemptions = 2, .kills = 1},
       [](World& world, Actors& actors) {
         world.reset(0);
         actors.reader(mortal);
         actors.successor();
         actors.ringer(1);
         actors.writer("ann", {20});
       }},
      {"wake-early", {.preemptions = 1, .kills = 1, .stops = 1}, {.preemptions = 2, .kills = 1, .stops = 1},
       [](World& world, Actors& actors) {  // the reader is woken when ann claims, and may sleep again before she commits
         world.reset(0);
         actors.reader();
         actors.undertaker(actors.writer("ann", {450}, mortal));
         actors.writer("bob", {20});
       }},
      {"wrap", {.preemptions = 2}, {.preemptions = 3},
       [](World& world, Actors& actors) {
         world.reset(near_end);
         actors.reader();
         actors.writer("ann", {100, 20});
         actors.writer("bob", {40, 200});
       }},
      {"tie", {.preemptions = 3}, {.preemptions = 4},  // two claims tried at one place, of different lengths
       [](World& world, Actors& actors) {
         world.reset(0);
         actors.writer("ann", {20});
         actors.writer("bob", {200});
         actors.reader();
       }},
      {"timeout", {.preemptions = 1, .timeouts = 1}, {.preemptions = 2, .timeouts = 2},
       [](World& world, Actors& actors) {
         world.reset(near_end);
         actors.reader();
         actors.writer("ann", {100, 20});
         actors.writer("bob", {40});
       }},
      {"kill-writer", {.preemptions = 2, .kills = 1}, {.preemptions = 3, .kills = 1},
       [](World& world, Actors& actors) {
         world.reset(near_end);
         actors.reader();
         actors.undertaker(actors.writer("ann", {100}, mortal));
         actors.writer("bob", {40});
       }},
      {"kill-both", {.preemptions = 0, .kills = 2}, {.preemptions = 1, .kills = 2},
       [](World& world, Actors& actors) {
         world.reset(near_end);
         actors.reader();
         actors.undertaker(actors.writer("ann", {100}, mortal));
         actors.undertaker(actors.writer("bob", {40}, mortal));
       }},
      {"kill-reader", {.preemptions = 1, .kills = 1}, {.preemptions = 2, .kills = 1},
       [](World& world, Actors& actors) {
         world.reset(near_end);
         actors.reader(mortal);
         actors.successor();
         actors.writer("ann", {100, 20});
         actors.writer("bob", {40});
       }},
      {"full", {.preemptions = 2}, {.preemptions = 3},
       [](World& world, Actors& actors) {
         world.reset(0);
         world.occupy(3072);
         world.occupy(768);
         actors.reader(Fate::safe, 1);
         actors.writer("ann", {300, 200});
         actors.writer("bob", {20, 400});
       }},
      {"full-kill-writer", {.preemptions = 1, .kills = 1}, {.preemptions = 2, .kills = 1},
       [](World& world, Actors& actors) {
         world.reset(0);
         world.occupy(3584);
         actors.reader();
         actors.undertaker(actors.writer("ann", {200, 300}, mortal));
         actors.writer("bob", {100, 400});
       }},
      {"full-tie-kill", {.preemptions = 2, .kills = 1}, {.preemptions = 3, .kills = 1},
       [](World& world, Actors& actors) {
         world.reset(3584);
         actors.undertaker(actors.writer("ann", {480}, mortal));
         actors.writer("bob", {300});
         actors.reader();
       }},
      {"full-kill-reader", {.preemptions = 1, .kills = 1}, {.preemptions = 2, .kills = 1},
       [](World& world, Actors& actors) {
         world.reset(0);
         world.occupy(3072);
         world.occupy(768);
         actors.reader(mortal, 1);
         actors.successor(Fate::safe, 1);
         actors.writer("ann", {300});
         actors.writer("bob", {400});
       }},
      {"kill-two-readers", {.preemptions = 0, .kills = 2}, {.preemptions = 1, .kills = 2},
       [](World& world, Actors& actors) {
         world.reset(near_end);
         actors.reader(mortal);
         actors.successor(mortal);
         actors.successor();
         actors.writer("ann", {100});
         actors.writer("bob", {40});
       }},
      {"lend", {.preemptions = 2}, {.preemptions = 3},  // the reader's records are finished by another thread
       [](World& world, Actors& actors) {
         world.reset(0);
         actors.wrote("old", {480, 480, 480, 480, 480, 480, 480});
         actors.reader(Fate::safe, 8);
         actors.borrower(7);
         actors.writer("ann", {300, 400});
       }},
      {"stop-writer", {.preemptions = 2, .stops = 1}, {.preemptions = 3, .stops = 1},
       [](World& world, Actors& actors) {
         world.reset(near_end);
         actors.reader();
         actors.writer("ann", {100}, mortal);
         actors.writer("bob", {40, 200});
       }},
      {"reuse-slot", {.preemptions = 1, .kills = 1}, {.preemptions = 2, .kills = 1},
       [](World& world, Actors& actors) {
         world.reset(near_end);
         actors.reader();
         actors.writer("bob", {40});
         const std::size_t ann = actors.writer("ann", {100}, mortal);
         actors.undertaker(ann);
         actors.heir(ann, {20});
       }},
      {"close", {.preemptions = 2}, {.preemptions = 3},
       [](World& world, Actors& actors) {
         world.reset(0);
         world.occupy(3584);
         actors.reader();
         actors.writer("ann", {100, 400});
         actors.writer("bob", {300});
         actors.closer();
       }},
      {"large", {.preemptions = 2}, {.preemptions = 3},
       [](World& world, Actors& actors) {
         world.reset(0);
         world.occupy(3072);
         actors.reader(Fate::safe, 2);
         actors.sender("ann", 1300);
       }},
      {"large-two", {.preemptions = 1}, {.preemptions = 2},
       [](World& world, Actors& actors) {
         world.reset(0);
         world.occupy(3072);
         actors.reader(Fate::safe, 2);
         actors.sender("ann", 1000);
         actors.sender("bob", 600);
       }},
      {"large-kill-reader", {.preemptions = 1, .kills = 1}, {.preemptions = 2, .kills = 1},
       [](World& world, Actors& actors) {
         world.reset(0);
         world.occupy(3072);
         actors.reader(mortal, 2);
         actors.successor(Fate::safe, 2);
         actors.sender("ann", 1000);
       }},
      {"large-kill-sender", {.preemptions = 1, .kills = 1}, {.preemptions = 2, .kills = 1},
       [](World& world, Actors& actors) {
         world.reset(0);
         world.occupy(3072);
         actors.reader();
         actors.undertaker(actors.sender("ann", 1000, mortal));
         actors.writer("bob", {200});
       }},
  };
}

}  // namespace penstock::explorer
