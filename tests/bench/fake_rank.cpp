// A rank process for rank_set_test.cpp: a library whose ranks don't communicate, and which
// misbehaves as its --variant says.
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "bench/helper.hpp"

namespace {

using namespace gyre;
using namespace gyre::bench;

/// Computes everybody's result from the pattern.
struct Solo {
  HelperArguments arguments;
  Operation operation;
  int calls = 0;

  int rank() const { return arguments.rank; }
  int size() const { return arguments.size; }
  std::string name() const { return "solo"; }
  std::string version() const { return "1"; }
  std::string error() const { return "solo broke down"; }
  std::string algorithm() const { return ""; }
  std::uint64_t bytes_sent() const { return 0; }
  void* allocate(std::size_t) { return nullptr; }
  void release(void*, std::size_t) {}
  void* result(const Operation&, void*, void* receive, int) const { return receive; }
  bool barrier() { return true; }

  std::string prepare(const Operation& o, void*, void*) {
    operation = o;
    return o.dtype == DataType::float16 ? "unsupported: no half" : "";
  }
  bool run(void* send, void* receive, int) {
    const bool faulty = rank() == size() - 1;
    if (faulty && arguments.variant == "die") std::abort();
    if (faulty && arguments.variant == "hang") ::pause();
    if (faulty && arguments.variant == "error") return false;
    std::memcpy(receive, send, operation.count * size_of(operation.dtype));
    return true;
  }
};

}  // namespace

int main(int argc, char** argv) {
  die_with_parent();
  Solo solo;
  std::string error;
  if (!parse_helper_arguments(argc, argv, &solo.arguments, &error)) {
    std::fprintf(stderr, "%s\n", error.c_str());
    return 1;
  }
  if (solo.arguments.variant == "mute") {
    std::fprintf(stderr, "no license\n");
    return 1;
  }
  return run_helper(solo.arguments, solo);
}
