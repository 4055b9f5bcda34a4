// Who may connect, for a thread that never needs the interpreter: the twin of src/penstock/transport/gate.py, which says
// why there is a gate, and makes the socket. ZeroMQ asks there by RFC 27 (ZAP).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "zeromq.hpp"

namespace penstock {

// Takes as long wherever they differ: so nobody learns from our answers how much of a key was right.
inline bool equal_in_constant_time(std::string_view one, std::string_view other) {
  if (one.size() != other.size()) return false;
  volatile unsigned difference = 0;
  for (std::size_t i = 0; i != one.size(); ++i)
    difference = difference | static_cast<unsigned>(static_cast<unsigned char>(one[i] ^ other[i]));
  return difference == 0;
}

class Gate {
 public:
  // Lets in holders of the key `admitted` to sockets of `domain`.
  Gate(ZeroMqSocket socket, std::string domain, std::string admitted)
      : socket_(socket), domain_(std::move(domain)), admitted_(std::move(admitted)) {}

  // Answers one question, if there is one; returns whether there was.
  bool answer() {
    ZeroMqPart part(socket_.zmq());
    if (!socket_.receive(part)) return false;
    std::array<std::string, kCount> question;
    std::size_t count = 1;
    question[0] = part.text();
    for (; part.more_follow() && socket_.receive(part); ++count)
      if (count < question.size()) question[count] = part.text();
    const bool welcome = count == kCount && question[kDomain] == domain_ && question[kMechanism] == "CURVE" &&
                         equal_in_constant_time(question[kKey], admitted_);
    socket_.send(question[kVersion], true);
    socket_.send(question[kRequest], true);
    socket_.send(welcome ? "200" : "400", true);
    socket_.send(welcome ? "OK" : "not a key of this run", true);
    socket_.send("", true);
    socket_.send("", false);
    return true;
  }

  ZeroMq::PollItem readable() const { return socket_.readable(); }

 private:
  // The parts of a question. What follows the mechanism are its credentials: with CURVE, the key alone.
  enum Part : std::size_t { kVersion, kRequest, kDomain, kAddress, kIdentity, kMechanism, kKey, kCount };

  ZeroMqSocket socket_;
  const std::string domain_;
  const std::string admitted_;
};

}  // namespace penstock
