// Two ranks, here threads of one process, average an array in memory that both can map.
//
//   c++ -std=c++20 all_reduce.cpp $(pkg-config --cflags --libs gyre) && ./a.out
#include <cstdio>
#include <gyre/gyre.hpp>
#include <thread>
#include <vector>

namespace {

constexpr int ranks = 2;
constexpr std::size_t count = 100'000;

void run(const gyre::Context& context, const gyre_unique_id& id, int rank) {
  gyre::Communicator comm(context, id, rank, ranks);
  gyre::Memory<float> gradients(context, count);
  for (std::size_t i = 0; i < count; ++i) gradients[i] = static_cast<float>(rank);
  comm.all_reduce(gradients.span(), GYRE_AVG);
  if (rank == 0) std::printf("the average is %g\n", static_cast<double>(gradients[0]));
}

}  // namespace

int main() try {
  gyre::Context context;
  const gyre_unique_id id = context.unique_id();
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] { run(context, id, rank); });
  for (std::thread& thread : threads) thread.join();
} catch (const gyre::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
